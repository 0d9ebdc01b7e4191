package security

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
)

// A text that quotes a client is no longer than the client can read, and still text.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, "as it is: ü", Refuse(kerr.InvalidRequest, "as it is: %s", "ü").Text)
	for shift := range 4 {
		text := Text("%s%s", strings.Repeat("x", shift), strings.Repeat("🂡", MaxText))
		require.LessOrEqual(t, len(text), MaxText)
		require.Greater(t, len(text), MaxText-8)
		require.True(t, utf8.ValidString(text))
		require.True(t, strings.HasSuffix(text, "🂡…"))
	}
	require.Len(t, Text("%s", strings.Repeat("x", MaxText)), MaxText)
}
