package audit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newAudit(t *testing.T, cfg Config) (*Audit, *observer.ObservedLogs, *prometheus.Registry) {
	t.Helper()
	core, lines := observer.New(zapcore.DebugLevel)
	reg := prometheus.NewRegistry()
	a, err := New(cfg, zap.New(core), reg)
	require.NoError(t, err)
	return a, lines, reg
}

var alice = security.Requester{Principal: security.User("alice"), Host: "10.0.0.7", Listener: "external", ClientID: "app"}

func TestLines(t *testing.T) {
	t.Parallel()
	a, lines, reg := newAudit(t, DefaultConfig())
	a.LoginRefused(alice, "PLAIN", "alice", errors.New("wrong password"))
	a.LoginRefused(alice, "X-OWN", "alice", nil) // the mechanism of a module
	a.LoginRefused(alice, "unknown", "", errors.New("the listener does not offer it"))
	a.Denied(alice, kmsg.Produce, kmsg.ACLOperationWrite, security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: "orders"})
	a.Denied(alice, kmsg.Key(999), kmsg.ACLOperationAlter, security.Cluster)
	a.ConnectionRefused(security.Requester{Host: "10.0.0.7", Listener: "external"}, errors.New("the TLS handshake failed"))
	a.ConnectionRefused(alice, errors.New("before a login"))
	all := lines.All()
	require.Len(t, all, 7)
	for _, line := range all {
		require.Equal(t, "audit", line.LoggerName)
		require.Equal(t, zapcore.InfoLevel, line.Level)
	}
	require.Equal(t, map[string]any{"mechanism": "PLAIN", "user": "alice", "reason": "wrong password", "listener": "external", "host": "10.0.0.7", "client_id": "app"}, all[0].ContextMap())
	require.Equal(t, map[string]any{"principal": "User:alice", "operation": "WRITE", "resource_type": "TOPIC", "resource": "orders", "api": "Produce", "listener": "external", "host": "10.0.0.7", "client_id": "app"}, all[3].ContextMap())
	require.Equal(t, map[string]any{"reason": "the TLS handshake failed", "listener": "external", "host": "10.0.0.7"}, all[5].ContextMap())
	require.Equal(t, map[string]any{"reason": "before a login", "listener": "external", "host": "10.0.0.7", "client_id": "app"}, all[6].ContextMap())
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP kafka_gateway_denied_operations_total Operations that the authorizer denied, by API.
# TYPE kafka_gateway_denied_operations_total counter
kafka_gateway_denied_operations_total{api="Produce"} 1
kafka_gateway_denied_operations_total{api="Unknown"} 1
# HELP kafka_gateway_refused_logins_total Logins that were refused, by mechanism.
# TYPE kafka_gateway_refused_logins_total counter
kafka_gateway_refused_logins_total{mechanism="PLAIN"} 1
kafka_gateway_refused_logins_total{mechanism="X-OWN"} 1
kafka_gateway_refused_logins_total{mechanism="unknown"} 1
`), "kafka_gateway_denied_operations_total", "kafka_gateway_refused_logins_total"))
}

// A login that could not be checked is told of as that, with its user, and is none that
// was refused.
func TestUncheckedLogins(t *testing.T) {
	t.Parallel()
	a, lines, reg := newAudit(t, DefaultConfig())
	a.LoginRefused(alice, "PLAIN", "alice", fmt.Errorf("%w: the server is away", security.ErrUnavailable))
	require.Equal(t, 1, lines.FilterMessage("a login could not be checked").Len())
	require.Equal(t, map[string]any{"mechanism": "PLAIN", "user": "alice", "reason": "the login could not be checked: the server is away",
		"listener": "external", "host": "10.0.0.7", "client_id": "app"}, lines.All()[0].ContextMap())
	n, err := testutil.GatherAndCount(reg, "kafka_gateway_refused_logins_total")
	require.NoError(t, err)
	require.Zero(t, n)
}

// Many lines of one address do not keep others from having theirs, and what was
// left out is told.
func TestRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, lines, reg := newAudit(t, Config{Enabled: true, RatePerSource: 3, Rate: 5})
		refuse := func(host string, n int) {
			for range n {
				a.ConnectionRefused(security.Requester{Host: host, Listener: "l"}, nil)
			}
		}
		refuse("10.0.0.1", 100)
		require.Len(t, lines.TakeAll(), 3)
		refuse("2001:db8::1", 1)
		refuse("2001:db8::2", 1) // the same network
		told := lines.TakeAll()
		require.Len(t, told, 2)
		require.EqualValues(t, 97, told[0].ContextMap()["left_out_before"])
		require.NotContains(t, told[1].ContextMap(), "left_out_before")
		refuse("10.0.0.2", 1)
		require.Empty(t, lines.TakeAll(), "the rate over all")
		a.LoginRefused(alice, "PLAIN", "alice", nil)
		require.Len(t, lines.TakeAll(), 1, "another kind")
		time.Sleep(time.Minute)
		refuse("10.0.0.1", 10)
		told = lines.TakeAll()
		require.Len(t, told, 3)
		require.EqualValues(t, 1, told[0].ContextMap()["left_out_before"])
		require.InDelta(t, 105, testutil.ToFloat64(a.connections.counted), 0)
		n, err := testutil.GatherAndCount(reg, "kafka_gateway_audit_lines_left_out_total")
		require.NoError(t, err)
		require.Equal(t, 3, n)
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	a, _, _ := newAudit(t, DefaultConfig())
	for i := range 3 * maxSources {
		a.ConnectionRefused(security.Requester{Host: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), Listener: "l"}, nil)
	}
	require.Equal(t, maxSources, a.connections.sources.Len())
}

func TestOff(t *testing.T) {
	t.Parallel()
	a, lines, _ := newAudit(t, Config{})
	a.LoginRefused(alice, "PLAIN", "alice", nil)
	require.Empty(t, lines.All())
	require.InDelta(t, 1, testutil.ToFloat64(a.refusedLogins.WithLabelValues("PLAIN")), 0)
}

func TestTextsAreCutAndEscaped(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain ünï 日":                        "plain ünï 日",
		"a\nb\x1b[2J":                        `a\u000ab\u001b[2J`,
		"\u202eevil":                         `\u202eevil`,
		"\xff\xfea":                          `\xff\xfea`,
		"\ufffd":                             "\ufffd",
		"\u00a0":                             `\u00a0`,
		strings.Repeat("a", maxText):         strings.Repeat("a", maxText),
		strings.Repeat("a", maxText+1):       strings.Repeat("a", maxText) + "…",
		strings.Repeat("a", 254) + "日日":      strings.Repeat("a", 254) + "…",
		strings.Repeat("a", 253) + "日" + "b": strings.Repeat("a", 253) + "日…",
	} {
		require.Equal(t, want, plain(given))
	}
	a, lines, _ := newAudit(t, DefaultConfig())
	huge := strings.Repeat("x\n", 1<<20)
	who := security.Requester{Principal: security.User(huge), Host: huge, ClientID: huge}
	a.LoginRefused(who, huge, huge, errors.New(huge))
	a.Denied(who, kmsg.Fetch, kmsg.ACLOperationRead, security.Resource{Type: kmsg.ACLResourceTypeGroup, Name: huge})
	a.ConnectionRefused(who, errors.New(huge))
	require.Len(t, lines.All(), 3)
	for _, line := range lines.All() {
		for name, value := range line.ContextMap() {
			require.Less(t, len(value.(string)), 6*maxText+4, name)
			require.NotContains(t, value, "\n")
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := New(Config{RatePerSource: -1, Rate: -2}, zap.NewNop(), nil)
	require.EqualError(t, err, "audit.rate_per_source: -1 is below 0\naudit.rate: -2 is below 0")
}
