package users

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/security"
)

// FuzzFile reads any file without a panic, tells nothing of it in an error, and
// reads back what it has read.
func FuzzFile(f *testing.F) {
	c := security.NewScramCredential(security.ScramSHA256, []byte("salted"), []byte("salt"), 4096)
	good := FormatLine("a:SCRAM-SHA-512$b", security.ScramSHA256, c)
	f.Add([]byte(good + "\r\n# comment\n\n" + strings.Replace(good, "a:", "b:", 1)))
	f.Add([]byte("\ufeff" + good))
	f.Add([]byte(":SCRAM-SHA-256$4096:$:"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		found, names, err := parseFile(raw)
		if err != nil {
			require.Regexp(t, `^line \d+: the (line|user) [a-zA-Z0-9 :;,.#$"-]*$`, err.Error())
			return
		}
		var again bytes.Buffer
		for key, c := range found {
			require.NoError(t, CheckName(key.user))
			require.True(t, names[key.user])
			again.WriteString(FormatLine(key.user, key.mechanism, c) + "\n")
		}
		back, _, err := parseFile(again.Bytes())
		require.NoError(t, err)
		require.Equal(t, found, back)
	})
}

// Some editors begin a file with a mark of its encoding.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	c := security.NewScramCredential(security.ScramSHA256, []byte("salted"), []byte("salt"), 4096)
	_, names, err := parseFile([]byte("\ufeff" + FormatLine("alice", security.ScramSHA256, c)))
	require.NoError(t, err)
	require.True(t, names["alice"])
}
