package choice_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/internal/choice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		candidates []string
		words      []string
		found, err string
	}{
		{name: "b", candidates: []string{"b", "a"}, words: []string{"none"}, found: "b"},
		{name: "none", candidates: []string{"a"}, words: []string{"none"}},
		{name: "x", candidates: []string{"b", "a"}, words: []string{"none"}, err: `some.key: "x" is none of a, b, none`},
		{name: "none", candidates: []string{"a"}, err: `some.key: "none" is none of a`},
		{name: "b", candidates: []string{"a", "b", "a"}, err: `some.key: two things have the name "a"`},
		{name: "none", candidates: []string{"none"}, words: []string{"none"}, err: `some.key: two things have the name "none"`},
	} {
		key := choice.Key[string]{Name: "some.key", Kind: "things", NameOf: func(s string) string { return s }, Words: c.words}
		found, ok, err := key.Of(c.name, c.candidates)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.found, found)
		require.Equal(t, c.found != "", ok)
	}
}

func TestTell(t *testing.T) {
	t.Parallel()
	key := choice.Key[string]{Name: "some.key", NameOf: func(s string) string { return s }, Words: []string{"none"}}
	require.Equal(t, choice.Words{Keys: []string{"some.key"}, Names: []string{"a", "none", "x"}}, key.Tell([]string{"x", "a"}).Words)
	require.Equal(t, []string{"none"}, key.Words)
}
