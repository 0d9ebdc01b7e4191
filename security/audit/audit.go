// Package audit tells operators what was refused: logins, operations that an
// authorizer denied, connections that ended before their first request was served.
// Each is one line of the log, named "audit", and each is counted. Logins that could not be
// checked are told of, too, but are no refusals: while whoever knows the passwords is away
// it must not look as if somebody guessed.
//
// Clients choose how often they are refused, and much of what a line says. So there
// are no more lines a minute than configured, of each kind and from each address;
// texts of clients are cut, and what is not printable is escaped.
package audit

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
)

// Audit implements security.Audit over a log.
type Audit struct {
	log                         *zap.Logger
	logins, denied, connections *kind
	refusedLogins               *prometheus.CounterVec
	deniedOperations            *prometheus.CounterVec
}

var _ security.Audit = (*Audit)(nil)

// New returns an audit that writes to log. A nil reg registers no metrics.
func New(cfg Config, log *zap.Logger, reg prometheus.Registerer) (*Audit, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !cfg.Enabled {
		log = zap.NewNop()
	}
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "kafka_gateway", Name: name, Help: help}, []string{label})
	}
	leftOut := counter("audit_lines_left_out_total", "Lines of the audit that were left out because there were too many, by kind.", "kind")
	a := &Audit{
		log:              log.Named("audit"),
		logins:           newKind(cfg, leftOut.WithLabelValues("login")),
		denied:           newKind(cfg, leftOut.WithLabelValues("operation")),
		connections:      newKind(cfg, leftOut.WithLabelValues("connection")),
		refusedLogins:    counter("refused_logins_total", "Logins that were refused, by mechanism.", "mechanism"),
		deniedOperations: counter("denied_operations_total", "Operations that the authorizer denied, by API.", "api"),
	}
	if reg == nil {
		return a, nil
	}
	if err := errors.Join(reg.Register(leftOut), reg.Register(a.refusedLogins), reg.Register(a.deniedOperations)); err != nil {
		return nil, fmt.Errorf("metrics of the audit: %w", err)
	}
	return a, nil
}

// LoginRefused implements security.Audit. A why that is security.ErrUnavailable is that of a
// login that could not be checked. The mechanism is one of the gateway's, whichever module
// brought it, or "unknown": core/sasl sees to it that clients make up none.
func (a *Audit) LoginRefused(who security.Requester, mechanism, user string, why error) {
	message := "a login could not be checked"
	if !errors.Is(why, security.ErrUnavailable) {
		message = "a login was refused"
		a.refusedLogins.WithLabelValues(mechanism).Inc()
	}
	more, ok := a.logins.line(who.Host)
	if !ok {
		return
	}
	a.log.Info(message, append(more,
		text("mechanism", mechanism), text("user", user), because(why),
		zap.String("listener", who.Listener), text("host", who.Host), text("client_id", who.ClientID))...)
}

// Denied implements security.Audit.
func (a *Audit) Denied(who security.Requester, key kmsg.Key, op kmsg.ACLOperation, on security.Resource) {
	a.deniedOperations.WithLabelValues(kmsg.NameForKey(key.Int16())).Inc()
	more, ok := a.denied.line(who.Host)
	if !ok {
		return
	}
	a.log.Info("an operation was denied", append(more,
		text("principal", who.Principal.String()), zap.Stringer("operation", op),
		zap.Stringer("resource_type", on.Type), text("resource", on.Name), zap.String("api", kmsg.NameForKey(key.Int16())),
		zap.String("listener", who.Listener), text("host", who.Host), text("client_id", who.ClientID))...)
}

// ConnectionRefused implements security.Audit.
func (a *Audit) ConnectionRefused(who security.Requester, why error) {
	more, ok := a.connections.line(who.Host)
	if !ok {
		return
	}
	if who.ClientID != "" { // most are refused before they could tell
		more = append(more, text("client_id", who.ClientID))
	}
	a.log.Info("a connection was refused", append(more,
		because(why), zap.String("listener", who.Listener), text("host", who.Host))...)
}

func because(why error) zap.Field {
	if why == nil {
		return zap.Skip()
	}
	return text("reason", why.Error())
}
