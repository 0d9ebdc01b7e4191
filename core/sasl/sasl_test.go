package sasl_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/sasl/sasltest"
)

// off is a mechanism that misses something.
type off struct{ sasltest.Words }

func (off) Ready() error { return errors.New("set sasl.off") }

func TestChoice(t *testing.T) {
	t.Parallel()
	all := []sasl.Mechanism{sasltest.Words("B"), off{"C"}, sasltest.Words("A")}
	open := func(names ...string) (*sasl.Sasl, error) {
		cfg := sasl.DefaultConfig()
		cfg.Mechanisms = names
		return sasl.New(cfg, all, nil, nil)
	}
	s, err := open()
	require.NoError(t, err)
	require.NoError(t, s.Check([]string{"A", "B"}))
	require.EqualError(t, s.Check([]string{"C"}), `"C" is none of A, B`)
	names, _ := s.Session(client, nil).Handshake(1, "?")
	require.Equal(t, []string{"A", "B"}, names)

	s, err = open("B")
	require.NoError(t, err)
	require.EqualError(t, s.Check([]string{"A"}), `"A" is none of B`)

	_, err = open("C", "D")
	require.ErrorContains(t, err, "sasl.mechanisms: C: set sasl.off")
	require.ErrorContains(t, err, `sasl.mechanisms: "D" is none of A, B, C`)
	_, err = open("A", "A")
	require.EqualError(t, err, "sasl.mechanisms: A is listed twice")

	all = append(all, sasltest.Words("A"))
	_, err = open()
	require.EqualError(t, err, `sasl.mechanisms: two mechanisms have the name "A"`)

	all = nil
	s, err = open()
	require.NoError(t, err)
	require.ErrorContains(t, s.Check(nil), "no mechanism")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, sasl.DefaultConfig().Validate())
	for key, change := range map[string]func(*sasl.Config){
		"sasl.max_reauth":             func(c *sasl.Config) { c.MaxReauth = time.Millisecond },
		"sasl.max_token_size":         func(c *sasl.Config) { c.MaxTokenSize = 2 << 20 },
		"sasl.max_logins":             func(c *sasl.Config) { c.MaxLogins = 0 },
		"sasl.max_logins_per_address": func(c *sasl.Config) { c.MaxLoginsPerAddress = -1 },
		"sasl.failure_delay":          func(c *sasl.Config) { c.FailureDelay = -1 },
		"sasl.max_failure_delay":      func(c *sasl.Config) { c.MaxFailureDelay = time.Millisecond },
	} {
		cfg := sasl.DefaultConfig()
		change(&cfg)
		require.ErrorContains(t, cfg.Validate(), key+": ")
	}
}
