package secured

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Kinds of faults: what a client must learn.
const (
	// WrongPassword is refused by code 58, with the words in its constant or, of SCRAM, ScramRefusal.
	WrongPassword = "wrong password"
	// BadToken is refused by code 58, and a JSON object that says so.
	BadToken = "bad token"
	// NotEnabled is refused by code 33.
	NotEnabled = "mechanism that is not enabled"
	// UnknownAuthority and OtherHost are noticed by the client itself.
	UnknownAuthority = "unknown authority"
	OtherHost        = "another host"
	// NoCertificate and StrangeCertificate are noticed by the server, which ends the handshake with an alert.
	NoCertificate      = "no certificate"
	StrangeCertificate = "certificate of an unknown authority"
	// NotAllowed gets in and is refused by code 29 when it makes a topic.
	NotAllowed = "not allowed"
)

// Kafka's words.
const (
	PlainRefusal = "Authentication failed: Invalid username or password"
	ScramRefusal = "Authentication failed during authentication due to invalid credentials with SASL mechanism "
	TokenRefusal = `{"status":"invalid_token"}`
)

// Fault is a login that does not work.
type Fault struct {
	Login
	Kind string
	// Says is what the server's message has in it, for clients that show it.
	Says string
}

// Faults returns the logins that do not work, and Mallory's.
func (s *Server) Faults(t testing.TB) []Fault {
	t.Helper()
	change := func(mechanism, name, kind, says string, change func(*Login)) Fault {
		f := Fault{s.Login(t, mechanism, Alice), kind, says}
		f.Name = name
		change(&f.Login)
		return f
	}
	wrong := func(l *Login) { l.Password = "wrong" }
	unknown := func(l *Login) { l.User = "nobody" }
	expired := func(l *Login) {
		token, err := s.tokens.token(Alice, -2*time.Minute)
		require.NoError(t, err)
		l.Token, l.TokenURL = token, s.tokens.url+"/expired"
	}
	all := []Fault{
		change(Plain, "wrong password, PLAIN", WrongPassword, PlainRefusal, wrong),
		change(Scram256, "wrong password, SCRAM-SHA-256", WrongPassword, ScramRefusal+Scram256, wrong),
		change(Scram512, "wrong password, SCRAM-SHA-512", WrongPassword, ScramRefusal+Scram512, wrong),
		change(Plain, "unknown user, PLAIN", WrongPassword, PlainRefusal, unknown),
		change(Scram256, "unknown user, SCRAM-SHA-256", WrongPassword, ScramRefusal+Scram256, unknown),
		change(OAuthBearer, "expired token", BadToken, TokenRefusal, expired),
		change(Scram512, NotEnabled, NotEnabled, "", func(l *Login) { l.Address = s.plainOnly }),
		change(Plain, UnknownAuthority, UnknownAuthority, "", func(l *Login) { l.CA = s.otherCA }),
		change(Plain, OtherHost, OtherHost, "", func(l *Login) { l.Address = s.elsewhere }),
		change(Certificate, NoCertificate, NoCertificate, "", func(l *Login) { l.PEM = "" }),
		change(Certificate, StrangeCertificate, StrangeCertificate, "", func(l *Login) { l.PEM = s.stranger }),
	}
	for _, mechanism := range Mechanisms() {
		f := Fault{s.Login(t, mechanism, Mallory), NotAllowed, ""}
		f.Name = NotAllowed + ", " + mechanism
		all = append(all, f)
	}
	return all
}
