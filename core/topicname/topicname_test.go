package topicname

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "...", "Az09._-", strings.Repeat("x", MaxLength), "__consumer_offsets"} {
		require.NoError(t, Check(name), name)
	}
	long := strings.Repeat("x", MaxLength+1)
	for name, want := range map[string]string{
		"":      "Topic name is invalid: the empty string is not allowed",
		".":     "Topic name is invalid: '.' is not allowed",
		"..":    "Topic name is invalid: '..' is not allowed",
		"a b":   "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		"é":     "Topic name is invalid: 'é' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		"a\x00": "Topic name is invalid: 'a\x00' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
		long:    "Topic name is invalid: the length of '" + long + "' is longer than the max allowed length 249",
	} {
		require.EqualError(t, Check(name), want)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, Key("a.b_c"), Key("a_b.c"))
	require.NotEqual(t, Key("a-b"), Key("a_b"))
	require.True(t, CanCollide("a.b"))
	require.True(t, CanCollide("a_b"))
	require.False(t, CanCollide("a-b"))
}
