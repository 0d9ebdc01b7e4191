package quotas

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

func TestConform(t *testing.T) {
	securitytest.Quotas(t, func(t *testing.T, entries backend.Entries) securitytest.QuotaKeeper {
		q := New(entries, DefaultConfig())
		require.NoError(t, q.Load(t.Context()))
		return q
	})
}

// What cannot be read stops the start: it might have bounded somebody.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		`{`:                  `{}`,
		`{"user":"alice"}`:   `[]`,
		`{"user":"bob"}`:     `{"producer_byte_rate":-1}`,
		`{"user":["carol"]}`: `{"producer_byte_rate":1}`,
	} {
		q := New(memory{name: []byte(value)}, DefaultConfig())
		require.ErrorContains(t, q.Load(t.Context()), "the stored quota")
	}
}

// Clients cannot make quotas without end, nor with names of any length.
func TestMaxQuotas(t *testing.T) {
	t.Parallel()
	stored := memory{}
	q := New(stored, Config{MaxQuotas: 2, MaxAccounts: 1, Windows: 2, WindowSize: time.Second})
	set(t, q, entity("user", "alice"), "producer_byte_rate", 1)
	one := 1.0
	change := func(e security.QuotaEntity, value *float64) security.QuotaChange {
		return security.QuotaChange{Entity: e, Values: map[string]*float64{"producer_byte_rate": value}}
	}
	errs := q.AlterQuotas(t.Context(), []security.QuotaChange{
		change(entity("user", "bob"), &one), change(entity("client-id", "c"), &one), change(entity("user", "alice"), nil), change(entity("client-id", "d"), &one),
	}, false)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], kerr.PolicyViolation)
	require.EqualError(t, errs[1], "There are quotas of 2 entities; quotas.max_quotas is 2.")
	require.NoError(t, errs[2])
	require.NoError(t, errs[3], "there is room again")
	set(t, q, entity("user", "bob"), "consumer_byte_rate", 1) // it has some already
	require.Len(t, stored, 2)

	longest := strings.Repeat("u", 4096)
	errs = New(memory{}, DefaultConfig()).AlterQuotas(t.Context(), []security.QuotaChange{
		change(entity("user", longest), &one), change(entity("client-id", longest+"u"), &one),
	}, false)
	require.NoError(t, errs[0])
	require.EqualError(t, errs[1], "A client-id of 4097 bytes is not supported, limit 4096")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	err := Config{ProducerByteRate: -1, RequestPercentage: -0.5, Windows: 1, MaxAccounts: -1, MaxQuotas: -1}.Validate()
	require.EqualError(t, err, `quotas.producer_byte_rate: -1 is no rate; set 0 for none, or more
quotas.request_percentage: -0.5 is no rate; set 0 for none, or more
quotas.windows: 1 is out of range; set 2 to 1000
quotas.window_size: 0s is out of range; set 1ms to 1h0m0s
quotas.max_accounts: -1 is out of range; set 1 or more
quotas.max_quotas: -1 is out of range; set 0 for any number, or more`)
}
