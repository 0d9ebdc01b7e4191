package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Unreachable says why a cluster cannot be talked to, and what to do about it.
type Unreachable struct {
	Addresses []string
	Err       error
	Advice    string
}

// Error returns all of it, in one line.
func (u *Unreachable) Error() string { return fmt.Sprintf("%s (%s)", u.What(), u.Advice) }

// What returns it without the advice.
func (u *Unreachable) What() string {
	what := "nobody answers as a Kafka broker at"
	if u.Advice != isItThere {
		what = "cannot talk to"
	}
	return fmt.Sprintf("%s %s: %v", what, strings.Join(u.Addresses, ", "), u.Err)
}

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// errClosed: the server took the connection, and closed it.
var errClosed = errors.New("the connection was closed without an answer")

const (
	// unchecked is what closes the connection of who logs in where the listener fits.
	unchecked = "what checks logins, as an Iggy server or the keys of tokens, may not answer; the audit in the gateway's log says so"
	isItThere = "start the gateway, or name another address with --bootstrap"
	// limits is the advice for connections that were reset, as the gateway does with
	// those that it has no place for.
	limits = "a limit may have closed the connection: max_connections, max_connections_per_address or quotas.connection_creation_rate; " +
		"the gateway's metric kafka_gateway_connections_refused_total says which"
)

// unreachable returns the cause and the advice for a connection that did not come
// about.
func unreachable(addresses []string, err error, try *attempt) *Unreachable {
	var op *net.OpError // an alert of TLS comes as one of this operation, and of a type without a name
	remote := errors.As(err, &op) && op.Op == "remote error"
	if err = plain(err); errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer in time")
	}
	return &Unreachable{addresses, err, advice(err, remote, try)}
}

func advice(err error, remote bool, try *attempt) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "--ca names a file with the authority that signed the server's certificate"
	case errors.As(err, &name):
		return "name the server in --bootstrap as its certificate does"
	case errors.As(err, &invalid):
		return "the server needs another certificate"
	case remote:
		return "the server may ask for a certificate of an authority that it trusts: --cert and --key"
	case errors.Is(err, kerr.SaslAuthenticationFailed) && try.TokenFile != "":
		return "the token is not good; the audit in the gateway's log says why"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "the user or the password is wrong, or the user has none for this --mechanism; the audit in the gateway's log says which"
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return offers(nil)
	case errors.Is(err, kerr.IllegalSaslState):
		return "the listener has nobody log in: leave the login away, or name another listener in --bootstrap"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return limits
	case errors.Is(err, errClosed):
		return try.closed()
	}
	return isItThere
}

// closed is the advice for connections that the server closed without an answer.
func (a *attempt) closed() string {
	encrypts, logsIn := a.tls != nil, a.settled.login != nil
	switch {
	case encrypts && !a.spokeTLS.Load():
		return "the listener may not encrypt: leave --tls, --ca and --cert away"
	case encrypts && !logsIn:
		return "the listener may ask for a login: --user and --password-file"
	case encrypts:
		return unchecked
	case logsIn:
		return "the listener may ask for encryption, --tls or --ca; if it does not, " + unchecked
	}
	return "the listener may ask for encryption, --tls or --ca, or for a login, --user and --password-file"
}

// offers is the advice for who logs in by a mechanism that the listener has not.
func offers(mechanisms []string) string {
	if len(mechanisms) == 0 {
		return "the listener offers other ways to log in: --mechanism, --token-file"
	}
	var flags []string
	if slices.ContainsFunc(mechanisms, func(m string) bool { return m != mechanismOAuth }) {
		flags = append(flags, "--mechanism, with --user and --password-file")
	}
	if slices.Contains(mechanisms, mechanismOAuth) {
		flags = append(flags, "--token-file for "+mechanismOAuth)
	}
	return fmt.Sprintf("the listener offers %s: %s", strings.Join(mechanisms, ", "), strings.Join(flags, "; "))
}

// offered asks a listener by which mechanisms clients may log in, without doing so. It
// returns nil when that cannot be found out.
func offered(ctx context.Context, addresses []string, how Connection) []string {
	encryption, login, err := how.Settle()
	if err != nil || login == nil {
		return nil
	}
	opts := []kgo.Opt{kgo.SeedBrokers(addresses...), kgo.ClientID(clientID), kgo.DialTimeout(dialTimeout)}
	if encryption != nil {
		opts = append(opts, kgo.DialTLSConfig(encryption))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil
	}
	defer client.Close()
	shake := kmsg.NewPtrSASLHandshakeRequest()
	shake.Mechanism = login.Name()
	for _, broker := range client.SeedBrokers() {
		if answer, err := broker.Request(ctx, shake); err == nil {
			return answer.(*kmsg.SASLHandshakeResponse).SupportedMechanisms
		}
	}
	return nil
}
