package quotas

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
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

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	err := Config{ProducerByteRate: -1, RequestPercentage: -0.5, Windows: 1, MaxAccounts: -1}.Validate()
	require.EqualError(t, err, `quotas.producer_byte_rate: -1 is no rate; set 0 for none, or more
quotas.request_percentage: -0.5 is no rate; set 0 for none, or more
quotas.windows: 1 is out of range; set 2 to 1000
quotas.window_size: 0s is out of range; set 1ms to 1h0m0s
quotas.max_accounts: -1 is out of range; set 1 or more`)
}
