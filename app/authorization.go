package app

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/authorizer"
	"github.com/iggykafka/gateway/security/plain"
)

// checkAuthorization refuses super users that nobody asks about: who names them takes
// everybody else for bounded. An authorizer that is switched off by its key is meant.
func (l *loaded) checkAuthorization(fault func(key, format string, args ...any)) {
	_, chosen := l.origin["authorization.authorizer"]
	if a := l.Authorization; a.Authorizer == authorizer.None && !chosen && len(a.SuperUsers) > 0 {
		fault("authorization.super_users", "there is no authorizer, so everybody may do everything; set authorization.authorizer to acls, or to none if that is meant")
	}
}

// warnOfOpenness tells of what looks as if it secured the gateway and does not.
func (l loaded) warnOfOpenness(log *zap.Logger) {
	l.warnOfAuthorization(log.Named("authorization"))
	l.warnOfUnused(log)
	all := l.Server.All()
	if !slices.ContainsFunc(all, l.knowsClients) {
		return
	}
	for _, at := range all {
		if !l.knowsClients(at) && !onlyHere(at.Listen) {
			log.Warn("whoever reaches this listener is User:ANONYMOUS, while other listeners have clients say who they are; "+
				"is it out of reach of strangers?", zap.String("listener", at.Name), zap.String("listen", at.Listen))
		}
	}
}

// warnOfAuthorization tells of an authorizer that cannot tell clients apart, or lets
// those do everything who have not said who they are.
func (l loaded) warnOfAuthorization(log *zap.Logger) {
	all := l.Server.All()
	open := slices.IndexFunc(all, func(n server.NamedListener) bool { return !l.asksForLogins(n) && !onlyHere(n.Listen) })
	switch {
	case l.Authorization.Authorizer == authorizer.None:
	case !slices.ContainsFunc(all, l.knowsClients):
		log.Warn("every client is User:ANONYMOUS to the authorizer, because no listener has clients log in: "+
			"give one the protocol SASL_SSL or SASL_PLAINTEXT, or SSL with client_auth, or set authorization.authorizer to none",
			zap.String("authorizer", l.Authorization.Authorizer))
	case open >= 0 && slices.Contains(l.Authorization.SuperUsers, security.Anonymous.String()):
		log.Warn("whoever reaches this listener may do everything: User:ANONYMOUS is one of authorization.super_users",
			zap.String("listener", all[open].Name), zap.String("listen", all[open].Listen))
	}
}

// warnOfUnused tells of sections that were filled in for listeners that do not exist.
func (l loaded) warnOfUnused(log *zap.Logger) {
	all, was := l.Server.All(), DefaultConfig()
	if !reflect.DeepEqual(l.SASL, was.SASL) && !slices.ContainsFunc(all, l.asksForLogins) {
		log.Warn("nobody has to log in, though the section sasl says how: give a listener the protocol SASL_SSL or SASL_PLAINTEXT")
	}
	if l.TLS != was.TLS && !slices.ContainsFunc(all, encrypted) {
		log.Warn("nothing is encrypted, though the section tls says how: give a listener the protocol SASL_SSL or SSL")
	}
	l.warnOfClientCA(log)
}

// warnOfNobody tells of a gateway that asks for logins which nobody can have yet.
func (l loaded) warnOfNobody(ctx context.Context, log *zap.Logger, users security.ScramCredentials) {
	elsewhere := l.SASL.OAuthBearer.JWKS != ""
	switch l.SASL.Plain.Passwords {
	case plain.Scram:
	case plain.Auto:
		elsewhere = elsewhere || l.Storage.Backend == string(chosen.Iggy)
	default: // of an Iggy server, or of a module that has users of its own
		elsewhere = true
	}
	if users == nil || elsewhere || !slices.ContainsFunc(l.Server.All(), l.asksForLogins) {
		return
	}
	if all, err := users.ScramUsers(ctx); err == nil && len(all) == 0 {
		log.Warn("nobody can log in by PLAIN or SCRAM: there are no users yet; write the first one into sasl.users_file (kafka-gateway scram makes the line)")
	}
}

// warnOfClientCA tells of authorities of clients' certificates where no client is asked for
// one: whoever named them takes those without for kept out.
func (l loaded) warnOfClientCA(log *zap.Logger) {
	const advice = "no client is asked for a certificate, though client_ca says whose are good: set client_auth to required or requested"
	encrypts, asks := false, false
	for _, at := range l.Server.All() {
		if !encrypted(at) {
			continue
		}
		encrypts, asks = true, asks || l.asksForCertificates(at)
		if at.ClientCA != "" && !l.asksForCertificates(at) {
			log.Warn(advice, zap.String("listener", at.Name))
		}
	}
	if l.TLS.ClientCA != "" && encrypts && !asks {
		log.Warn(advice, zap.String("section", "tls"))
	}
}

// asksForCertificates reports whether a listener with TLS asks clients for a certificate.
func (l loaded) asksForCertificates(n server.NamedListener) bool {
	return cmp.Or(n.ClientAuth, l.TLS.ClientAuth) != "none"
}

func encrypted(n server.NamedListener) bool { return strings.HasSuffix(n.Protocol, "SSL") }

func (loaded) asksForLogins(n server.NamedListener) bool {
	return strings.HasPrefix(n.Protocol, "SASL")
}

// knowsClients reports whether a listener tells clients apart, by a login or by
// certificates. One with a protocol of another module is taken to.
func (l loaded) knowsClients(n server.NamedListener) bool {
	return n.Protocol != server.Plaintext && (n.Protocol != "SSL" || l.asksForCertificates(n))
}

// onlyHere reports whether an address can be reached from this machine alone.
func onlyHere(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
