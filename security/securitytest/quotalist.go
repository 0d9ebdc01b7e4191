package securitytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
)

// shownQuotas writes entries as text, in their order.
func shownQuotas(entries []security.QuotaEntry) []string {
	var lines []string
	for _, e := range entries {
		var parts []string
		for kind, name := range e.Entity {
			if name == nil {
				parts = append(parts, kind)
			} else {
				parts = append(parts, kind+"="+*name)
			}
		}
		slices.Sort(parts)
		lines = append(lines, fmt.Sprint(strings.Join(parts, "+"), " ", e.Values))
	}
	return lines
}

func quotaDescribe(t *testing.T, open func() QuotaKeeper) {
	q := open()
	for _, e := range []security.QuotaEntity{
		Entity("user", "bob"), Entity("user", "alice"), Entity("user", "*"), Entity("user", "<default>"),
		Entity("user", "alice", "client-id", "app"), Entity("user", "*", "client-id", "*"), Entity("client-id", "app"),
	} {
		SetQuota(t, q, e, byteRate, 1)
	}
	SetQuota(t, q, Entity("ip", "10.0.0.1"), security.ConnectionRateQuota, 2)
	any := func(kind string) security.QuotaFilter { return security.QuotaFilter{Type: kind, Any: true} }
	named := func(kind, name string) security.QuotaFilter {
		return security.QuotaFilter{Type: kind, Value: Entity(kind, name)[kind]}
	}
	for _, c := range []struct {
		name    string
		strict  bool
		filters []security.QuotaFilter
		want    string
	}{
		{"all", false, nil, "client-id=app, client-id+user, client-id=app+user=alice, ip=10.0.0.1, user, user=<default>, user=alice, user=bob"},
		{"all, strictly", true, nil, ""},
		{"users", true, []security.QuotaFilter{any("user")}, "user, user=<default>, user=alice, user=bob"},
		{"users and more", false, []security.QuotaFilter{any("user")}, "client-id+user, client-id=app+user=alice, user, user=<default>, user=alice, user=bob"},
		{"one user", true, []security.QuotaFilter{named("user", "alice")}, "user=alice"},
		{"one user and more", false, []security.QuotaFilter{named("user", "alice")}, "client-id=app+user=alice, user=alice"},
		{"the default", true, []security.QuotaFilter{named("user", "*")}, "user"},
		{"the default and more", false, []security.QuotaFilter{named("user", "*")}, "client-id+user, user"},
		{"one that is called so", true, []security.QuotaFilter{named("user", "<default>")}, "user=<default>"},
		{"pairs", true, []security.QuotaFilter{any("client-id"), any("user")}, "client-id+user, client-id=app+user=alice"},
		{"addresses", true, []security.QuotaFilter{any("ip")}, "ip=10.0.0.1"},
		{"nobody", true, []security.QuotaFilter{named("user", "nobody")}, ""},
	} {
		found, err := q.DescribeQuotas(t.Context(), c.filters, c.strict)
		require.NoError(t, err, c.name)
		var names []string
		for _, line := range shownQuotas(found) {
			names = append(names, line[:strings.Index(line, " map[")])
		}
		require.Equal(t, c.want, strings.Join(names, ", "), c.name)
	}
}

func quotaAlter(t *testing.T, open func() QuotaKeeper) {
	q := open()
	alice := Entity("user", "alice")
	all := func() []string {
		found, err := q.DescribeQuotas(t.Context(), nil, false)
		require.NoError(t, err)
		return shownQuotas(found)
	}
	SetQuota(t, q, alice, byteRate, 5)
	SetQuota(t, q, alice, "consumer_byte_rate", 6)
	require.Equal(t, []string{"user=alice map[consumer_byte_rate:6 producer_byte_rate:5]"}, all())
	SetQuota(t, q, alice, byteRate, 0)
	SetQuota(t, q, alice, "no such quota", 0)
	SetQuota(t, q, Entity("user", "nobody"), byteRate, 0)
	require.Equal(t, []string{"user=alice map[consumer_byte_rate:6]"}, all())

	changes := []security.QuotaChange{QuotaChange(alice, byteRate, 7), QuotaChange(alice, byteRate, -7), QuotaChange(Entity("user", "bob"), byteRate, 8)}
	check := func(errs []error) {
		require.Len(t, errs, 3)
		require.NoError(t, errs[0])
		require.EqualError(t, errs[1], "Quota producer_byte_rate must be greater than 0")
		require.NoError(t, errs[2])
	}
	check(q.AlterQuotas(t.Context(), changes, true))
	require.Equal(t, []string{"user=alice map[consumer_byte_rate:6]"}, all(), "it was only looked at")
	check(q.AlterQuotas(t.Context(), changes, false))
	require.Equal(t, []string{"user=alice map[consumer_byte_rate:6 producer_byte_rate:7]", "user=bob map[producer_byte_rate:8]"}, all(), "a fault is its own")
}

// refusals are those of a Kafka 4.4 broker.
func quotaRefusals(t *testing.T, open func() QuotaKeeper) {
	q := open()
	for _, c := range []struct {
		entity security.QuotaEntity
		key    string
		value  float64
		want   string // "": no fault
	}{
		{Entity(), byteRate, 1, "Invalid empty client quota entity"},
		{Entity("user", ""), byteRate, 1, "Empty user not supported"},
		{Entity("client-id", ""), byteRate, 1, "Empty client-id not supported"},
		{Entity("ip", ""), byteRate, 1, "Empty ip not supported"},
		{Entity("planet", "x"), byteRate, 1, "Unhandled client quota entity type: planet"},
		{Entity("", "x"), byteRate, 1, "Unhandled client quota entity type: "},
		{Entity("user", "x", "ip", "1.2.3.4"), byteRate, 1, "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"},
		{Entity("ip", "1.2.3.4"), byteRate, 1, "Invalid configuration key producer_byte_rate"},
		{Entity("ip", "999.1.1.1"), security.ConnectionRateQuota, 1, "999.1.1.1 is not a valid IP or resolvable host."},
		{Entity("ip", "::1"), security.ConnectionRateQuota, 1, ""},
		{Entity("ip", "*"), security.ConnectionRateQuota, 1, ""},
		{Entity("ip", "1.2.3.4"), security.ConnectionRateQuota, 1.5, "connection_creation_rate cannot be a fractional value."},
		{Entity("ip", "1.2.3.4"), security.ConnectionRateQuota, 3e9, "Proposed value for connection_creation_rate is too large for an INT."},
		{Entity("ip", "1.2.3.4"), security.ConnectionRateQuota, -1, "Quota connection_creation_rate must be greater than 0"},
		{Entity("user", "x"), "nope", 1, "Invalid configuration key nope"},
		{Entity("user", "x"), security.ConnectionRateQuota, 1, "Invalid configuration key connection_creation_rate"},
		{Entity("user", "x"), byteRate, -5, "Quota producer_byte_rate must be greater than 0"},
		{Entity("user", "x"), byteRate, 1000.5, "producer_byte_rate cannot be a fractional value."},
		{Entity("user", "x"), byteRate, 0.9999999, "producer_byte_rate cannot be a fractional value."},
		{Entity("user", "x"), byteRate, 1000.0000005, ""},
		{Entity("user", "x"), byteRate, 1e-7, ""},
		{Entity("user", "x"), byteRate, 9.3e18, "Proposed value for producer_byte_rate is too large for a LONG."},
		{Entity("user", "x"), byteRate, math.NaN(), "Quota producer_byte_rate must be a finite number"},
		{Entity("user", "x"), byteRate, math.Inf(-1), "Quota producer_byte_rate must be a finite number"},
		{Entity("user", "x"), "request_percentage", math.Inf(1), "Quota request_percentage must be a finite number"},
		{Entity("user", "x"), "request_percentage", 0.5, ""},
		{Entity("user", "x"), "controller_mutation_rate", 0.5, ""},
	} {
		err := q.AlterQuotas(t.Context(), []security.QuotaChange{QuotaChange(c.entity, c.key, c.value)}, false)[0]
		if c.want == "" {
			require.NoError(t, err, "%v %s=%v", c.entity, c.key, c.value)
			continue
		}
		code, text, ok := security.Refused(err)
		require.True(t, ok, "%v", err)
		require.EqualValues(t, 42, code)
		require.Equal(t, c.want, text)
	}
}

// storeFails: what could not be stored is not in force.
func quotaStoreFails(t *testing.T, open func(t *testing.T, entries backend.Entries) QuotaKeeper) {
	entries := &Entries{}
	q := open(t, entries)
	SetQuota(t, q, Entity("user", "alice"), byteRate, 1e6)
	broken := errors.New("no disk")
	entries.FailWith(broken)
	errs := q.AlterQuotas(context.Background(), []security.QuotaChange{
		QuotaChange(Entity("user", "alice"), byteRate, 1), QuotaChange(Entity("user", "alice"), "nope", 1),
	}, false)
	require.ErrorIs(t, errs[0], broken)
	require.EqualError(t, errs[1], "Invalid configuration key nope")
	require.Zero(t, q.Use(Requester("alice", ""), security.ProducedBytes, 1e6))
	entries.FailWith(nil)
	SetQuota(t, q, Entity("user", "alice"), byteRate, 1)
	require.NotZero(t, q.Use(Requester("alice", ""), security.ProducedBytes, 1e6))
}
