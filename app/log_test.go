package app

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A flood of the same line is thinned out, except at debug; other lines are not.
func TestSameLines(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"info": sameLines + 2 + 1, "debug": 3*sameLines + 1} {
		var out bytes.Buffer
		log, err := newLogger(Log{Level: level, Format: "json"}, &out)
		require.NoError(t, err)
		for i := range 3 * sameLines {
			log.Warn("connection refused", zap.Int("client", i))
		}
		log.Warn("something else")
		require.Equal(t, want, bytes.Count(out.Bytes(), []byte("\n")), level)
	}
}
