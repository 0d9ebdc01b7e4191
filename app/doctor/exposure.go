package doctor

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/iggykafka/gateway/app/cli"
)

// Listener is a listener as it is configured.
type Listener struct {
	Key    string // of its address: "listeners.external.listen"
	Listen string
	// Advertise is the host, or the host and port, that clients are told; "" for Listen.
	Advertise string
	Protocol  string // "SASL_SSL"
	// Plain says that clients may log in by a mechanism that shows the password, or
	// a token, to whoever listens in.
	Plain bool
	// Certificate is its file and Expires when it ends; Err is why nobody knows.
	Certificate string
	Expires     time.Time
	Err         error
}

// Encrypted tells whether the listener speaks TLS.
func (l Listener) Encrypted() bool { return strings.HasSuffix(l.Protocol, "SSL") }

// asks tells whether the listener has clients log in.
func (l Listener) asks() bool { return strings.HasPrefix(l.Protocol, "SASL") }

// asked returns where this machine asks the listener. The certificate of one that encrypts
// is for the name that clients are told, and seldom for an address of this machine.
func (l Listener) asked() string {
	if l.Encrypted() && l.Advertise != "" {
		return l.told()
	}
	return reachable(l.Listen)
}

// told returns the host:port that clients connect to.
func (l Listener) told() string {
	if l.Advertise == "" {
		return l.Listen
	}
	if _, _, err := net.SplitHostPort(l.Advertise); err == nil {
		return l.Advertise
	}
	_, port, _ := net.SplitHostPort(l.Listen)
	return net.JoinHostPort(strings.Trim(l.Advertise, "[]"), port)
}

// fits tells whether the listener is one for the connection, as far as its flags say.
func (l Listener) fits(c cli.Connection) bool {
	encrypted, login := c.TLS || c.CA != "" || c.Certificate != "", c.User != "" || c.TokenFile != ""
	return l.Encrypted() == encrypted && l.asks() == login
}

// listenerFor returns the listener that the connection is for, or else the first.
func (s Setup) listenerFor() Listener {
	for _, l := range s.Listeners {
		if s.Connection.CommandConfig == "" && l.fits(s.Connection) {
			return l
		}
	}
	if len(s.Listeners) == 0 {
		return Listener{}
	}
	return s.Listeners[0]
}

// exposure looks who can reach the listeners, and what they can do there.
func (s Setup) exposure() (findings []Finding) {
	const check = "exposure"
	warn := func(text, remedy string) { findings = append(findings, found(check, Warn, text, remedy)) }
	open := ""
	for _, l := range s.Listeners {
		if loopback(host(l.Listen)) {
			continue
		}
		open = l.Listen
		switch {
		case !l.Encrypted() && !l.asks():
			warn(fmt.Sprintf("the gateway listens on %s (%s) without encryption and without asking who is there", l.Listen, l.Key),
				"set its protocol to SASL_SSL, or let only trusted networks reach it: a firewall, a private interface, a mesh")
		case !l.Encrypted() && l.Plain:
			warn(fmt.Sprintf("clients may show passwords or tokens to the gateway on %s (%s) without encryption", l.Listen, l.Key),
				"set its protocol to SASL_SSL, or its mechanisms to SCRAM-SHA-512")
		case !l.Encrypted():
			warn(fmt.Sprintf("what clients send and read on %s (%s) is not encrypted", l.Listen, l.Key), "set its protocol to SASL_SSL")
		}
	}
	if open != "" && !s.Authorizer {
		warn(fmt.Sprintf("whoever reaches %s, and is let in, may do everything: there is no authorizer", open),
			"set authorization.authorizer and authorization.super_users")
	}
	if s.Admin != "" && !loopback(host(s.Admin)) {
		warn(fmt.Sprintf("the admin listener on %s shows names of topics, groups and clients to whoever asks", s.Admin),
			"set admin.listen to a loopback or private address")
	}
	switch {
	case findings != nil:
	case open == "":
		findings = append(findings, ok(check, "only this machine can reach the gateway"))
	default:
		findings = append(findings, ok(check, "listeners that others can reach are encrypted, and what clients may do is decided"))
	}
	return append(findings, s.certificates(time.Now())...)
}

// renewal is how long before its end a certificate should have been replaced.
const renewal = 14 * 24 * time.Hour

// certificates looks at the certificates of listeners.
func (s Setup) certificates(now time.Time) (findings []Finding) {
	const check, remedy = "certificate", "replace the file; the gateway takes a new one without a restart"
	seen := map[string]bool{}
	for _, l := range s.Listeners {
		if !l.Encrypted() || seen[l.Certificate] && l.Err == nil {
			continue
		}
		seen[l.Certificate] = true
		left := l.Expires.Sub(now)
		switch {
		case l.Err != nil:
			findings = append(findings, found(check, Fail, fmt.Sprintf("%s: %v", l.Key, strings.ReplaceAll(l.Err.Error(), "\n", "; ")), "correct the section tls, or the listener's own keys"))
		case left <= 0:
			findings = append(findings, found(check, Fail, fmt.Sprintf("%s has expired, at %s", l.Certificate, l.Expires.UTC().Format(time.RFC3339)), remedy))
		case left < renewal:
			findings = append(findings, found(check, Warn, fmt.Sprintf("%s expires at %s", l.Certificate, l.Expires.UTC().Format(time.RFC3339)), remedy))
		default:
			findings = append(findings, ok(check, "%s is good until %s", l.Certificate, l.Expires.UTC().Format(time.RFC3339)))
		}
	}
	return findings
}
