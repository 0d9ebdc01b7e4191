package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/security/ssl"
)

// Connection says how to talk to a cluster, and who to be there. The zero value is
// a connection in the clear, of nobody. Secrets are in files: a command line can be
// read by every user of a machine.
type Connection struct {
	// TLS encrypts; CA is a PEM file with the authorities to trust in place of the
	// machine's. Certificate and Key are PEM files of a client that shows one.
	TLS                  bool
	CA, Certificate, Key string
	// User logs in with the password that is in PasswordFile, by Mechanism: PLAIN,
	// SCRAM-SHA-256 or SCRAM-SHA-512 (default).
	User, PasswordFile, Mechanism string
	// TokenFile holds a token to log in with by OAUTHBEARER. It is read again for
	// each login.
	TokenFile string
	// CommandConfig is a file of properties as Kafka's own tools take it; the other
	// fields go before it.
	CommandConfig string
}

// AddFlags adds the flags of a connection to a command.
func (c *Connection) AddFlags(set *pflag.FlagSet) {
	set.BoolVar(&c.TLS, "tls", false, "encrypt by TLS, as --ca and --cert do")
	set.StringVar(&c.CA, "ca", "", "PEM `file` with the authorities to trust, in place of the machine's")
	set.StringVar(&c.Certificate, "cert", "", "PEM `file` with a certificate to show")
	set.StringVar(&c.Key, "key", "", "PEM `file` with its key, if that is another file")
	set.StringVar(&c.User, "user", "", "`name` to log in as, with --password-file")
	set.StringVar(&c.PasswordFile, "password-file", "", "`file` with the password alone")
	set.StringVar(&c.TokenFile, "token-file", "", "`file` with a token, to log in by OAUTHBEARER")
	set.StringVar(&c.Mechanism, "mechanism", "", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default)")
	set.StringVar(&c.CommandConfig, "command-config", "", "`file` of properties as Kafka's own tools take it; the flags go before it")
}

// Given tells whether anything is asked for.
func (c Connection) Given() bool { return c != Connection{} }

// The mechanisms that a user with a password may log in by.
const (
	mechanismPlain  = "PLAIN"
	mechanismSHA256 = "SCRAM-SHA-256"
	mechanismSHA512 = "SCRAM-SHA-512"
	mechanismOAuth  = "OAUTHBEARER"
)

// attempt is one try to talk to a cluster.
type attempt struct {
	Connection
	settled
	spokeTLS atomic.Bool // some server did, whatever it did then
}

// try begins one. Errors are those of Settle.
func (c Connection) try() (*attempt, error) {
	s, err := c.settle()
	if err != nil {
		return nil, err
	}
	a := &attempt{Connection: c, settled: s}
	if s.tls == nil {
		return a, nil
	}
	check := s.tls.VerifyConnection
	s.tls.VerifyConnection = func(state tls.ConnectionState) error {
		a.spokeTLS.Store(true)
		if check == nil {
			return nil
		}
		return check(state)
	}
	return a, nil
}

// options returns the options of a client.
func (a *attempt) options() (opts []kgo.Opt) {
	if a.tls != nil {
		opts = append(opts, kgo.DialTLSConfig(a.tls))
	}
	if a.settled.login != nil {
		opts = append(opts, kgo.SASL(a.settled.login))
	}
	return opts
}

// Settle reads the files, and returns how to encrypt, nil for not at all, and how
// to log in, nil for not at all. Errors are of type UsageError, name the flag or the
// property, and hold no secret.
func (c Connection) Settle() (*tls.Config, sasl.Mechanism, error) {
	s, err := c.settle()
	return s.tls, s.login, err
}

// settled is what flags and properties come to.
type settled struct {
	tls   *tls.Config // nil: in the clear
	login sasl.Mechanism
	user  string // of login, "" where only the server knows
}

func (c Connection) settle() (s settled, err error) {
	if c.CommandConfig != "" {
		if s, err = readProperties(c.CommandConfig); err != nil {
			return settled{}, UsageError{fmt.Errorf("--command-config %s: %w", c.CommandConfig, err)}
		}
	}
	if err := errors.Join(c.secure(&s), c.login(&s)); err != nil {
		return settled{}, UsageError{err}
	}
	return s, nil
}

// who says as whom a client talks to the cluster, as far as that can be seen from here:
// the server makes a name of certificates and tokens by its own rules.
func (c Connection) who() string {
	s, err := c.settle()
	switch {
	case err != nil: // of files that have changed since
		return "a user that is not known any more"
	case s.user != "":
		return fmt.Sprintf("user %s, logged in by %s", s.user, s.login.Name())
	case s.login != nil:
		return "the user of the token in " + c.TokenFile
	case s.tls != nil && len(s.tls.Certificates) > 0 && s.tls.Certificates[0].Leaf != nil:
		name, err := ssl.NameOf(s.tls.Certificates[0].Leaf)
		if err != nil {
			name = err.Error() // no server will take it
		}
		return "the owner of the certificate " + name + ", if the listener asks for one"
	}
	return "nobody in particular: there was no login"
}

// secure applies the flags about TLS.
func (c Connection) secure(s *settled) error {
	if !c.TLS && c.CA == "" && c.Certificate == "" && c.Key == "" {
		return nil
	}
	if s.tls == nil {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return fmt.Errorf("--ca: %w", err)
		}
		if s.tls.RootCAs, err = pool(pem); err != nil {
			return fmt.Errorf("--ca %s %w", c.CA, err)
		}
	}
	switch {
	case c.Certificate != "":
		pair, err := tls.LoadX509KeyPair(c.Certificate, cmp.Or(c.Key, c.Certificate))
		switch {
		case err != nil && c.Key == "":
			return fmt.Errorf("--cert: %w; if its private key is in another file, name that by --key", err)
		case err != nil:
			return fmt.Errorf("--cert and --key: %w", err)
		}
		s.tls.Certificates = []tls.Certificate{pair}
	case c.Key != "":
		return errors.New("--key belongs to --cert, which names the certificate")
	}
	return nil
}

func pool(pem []byte) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM")
	}
	return p, nil
}

// login applies the flags about logging in.
func (c Connection) login(s *settled) error {
	switch {
	case c.TokenFile != "":
		if c.User != "" || c.PasswordFile != "" || c.Mechanism != "" && c.Mechanism != mechanismOAuth {
			return errors.New("--token-file logs in by OAUTHBEARER, without --user, --password-file or another --mechanism")
		}
		if _, err := firstLine("--token-file", c.TokenFile); err != nil {
			return err
		}
		s.login = oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := firstLine("--token-file", c.TokenFile)
			return oauth.Auth{Token: token}, err
		})
		s.user = ""
		return nil
	case c.User == "" && c.PasswordFile == "" && c.Mechanism == "":
		return nil
	case c.User == "" || c.PasswordFile == "":
		return errors.New("to log in, --user and --password-file are needed, or --token-file")
	}
	password, err := firstLine("--password-file", c.PasswordFile)
	if err != nil {
		return err
	}
	if s.login, err = byPassword(cmp.Or(c.Mechanism, mechanismSHA512), c.User, password); err != nil {
		return fmt.Errorf("--mechanism: %w", err)
	}
	s.user = c.User
	return nil
}

// byPassword returns how a user logs in.
func byPassword(mechanism, user, password string) (sasl.Mechanism, error) {
	switch mechanism {
	case mechanismPlain:
		return saslplain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case mechanismSHA256:
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case mechanismSHA512:
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("%q is none of %s, %s, %s", mechanism, mechanismPlain, mechanismSHA256, mechanismSHA512)
}

// firstLine reads a file that holds one secret, which editors end by a new line.
func firstLine(flag, name string) (string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	secret := strings.TrimRight(string(content), "\r\n")
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", fmt.Errorf("%s: %s does not hold one line", flag, name)
	}
	return secret, nil
}
