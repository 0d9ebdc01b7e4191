package app

import (
	"slices"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/authorizer"
)

// warnOfAuthorization tells of an authorizer that cannot tell clients apart.
func (l loaded) warnOfAuthorization(log *zap.Logger) {
	someoneLogsIn := slices.ContainsFunc(l.Server.All(), func(n server.NamedListener) bool { return n.Protocol != server.Plaintext })
	if l.Authorization.Authorizer == authorizer.None || someoneLogsIn {
		return
	}
	log.Named("authorization").Warn("every client is User:ANONYMOUS to the authorizer, because no listener has clients log in: "+
		"give one the protocol SASL_SSL, SASL_PLAINTEXT or SSL, or set authorization.authorizer to none",
		zap.String("authorizer", l.Authorization.Authorizer))
}
