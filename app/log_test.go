package app

import (
	"bytes"
	stdlog "log"
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

// The standard log is ours while the program runs, and nobody's afterwards.
func TestStandardLogOfLibraries(t *testing.T) {
	before, flags := stdlog.Writer(), stdlog.Flags()
	for level, seen := range map[string]bool{"debug": true, "info": false} {
		var out bytes.Buffer
		_, done, err := program{err: &out}.openLog(loaded{Config: Config{Log: Log{Level: level, Format: "json"}}})
		require.NoError(t, err)
		stdlog.Print("Checking cluster metadata")
		done()
		require.Equal(t, seen, bytes.Contains(out.Bytes(), []byte("Checking cluster metadata")), level)
	}
	require.Equal(t, before, stdlog.Writer())
	require.Equal(t, flags, stdlog.Flags())
}

// The audit limits its lines itself, and tells how many it left out.
func TestAuditIsNotThinnedOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := newLogger(Log{Level: "info", Format: "json"}, &out)
	require.NoError(t, err)
	log = log.Named("audit").With(zap.String("listener", "l"))
	for range 3 * sameLines {
		log.Info("a login was refused")
	}
	require.Equal(t, 3*sameLines, bytes.Count(out.Bytes(), []byte(`"listener":"l"`)))
}
