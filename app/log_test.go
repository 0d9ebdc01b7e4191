package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A flood of the same line is cut off, except at debug; other lines are not, and the
// next one tells how many were left out.
func TestSameLines(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"info": sameLines + 2, "debug": 3*sameLines + 2} {
		var out bytes.Buffer
		log, err := newLogger(Log{Level: level, Format: "json"}, &out)
		require.NoError(t, err)
		for i := range 3 * sameLines {
			log.Warn("connection refused", zap.Int("client", i))
		}
		log.Named("other").With(zap.Int("of", 1)).Warn("something else")
		log.Warn("once more")
		require.Equal(t, want, bytes.Count(out.Bytes(), []byte("\n")), level)
		require.Equal(t, level == "info", bytes.Contains(out.Bytes(), []byte(`"msg":"something else","of":1,"left_out_before":200`)), level)
		require.Equal(t, want-sameLines == 2, bytes.Count(out.Bytes(), []byte("left_out_before")) == 1)
	}
}

// What clients choose cannot make lines long, whoever writes them.
func TestLongFields(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("é", 1<<20)
	for _, level := range []string{"info", "debug"} {
		for _, name := range []string{"", auditName} {
			var out bytes.Buffer
			log, err := newLogger(Log{Level: level, Format: "json"}, &out)
			require.NoError(t, err)
			given := []zap.Field{zap.String("client_id", huge), zap.Error(errors.New("x" + huge)), zap.Int("n", 1)}
			log.Named(name).With(zap.String("with", huge)).Warn("closed", given...)
			require.Less(t, out.Len(), 3*maxField+1<<10)
			require.Equal(t, huge, given[0].String, "the caller's fields are as they were")
			var line map[string]any
			require.NoError(t, json.Unmarshal(out.Bytes(), &line))
			require.Equal(t, huge[:maxField]+"…", line["client_id"])
			require.Equal(t, "x"+huge[:maxField-2]+"…", line["error"])
			require.Equal(t, huge[:maxField]+"…", line["with"])
		}
	}
}

// stumbling is an error and a text that panics, a nil pointer as well as another one.
type stumbling struct{ text string }

func (s *stumbling) Error() string { return s.say() }

func (s *stumbling) say() string {
	if s.text == "" {
		panic("nothing to say")
	}
	return s.text
}

type stumblingText struct{ *stumbling }

func (s stumblingText) String() string { return s.say() }

type longText struct{ fmt.Stringer }

func (longText) String() string { return strings.Repeat("x", 2*maxField) }

// A field that panics when it is asked costs its own text, and not the program.
func TestFieldsThatPanic(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"info", "debug"} {
		var out bytes.Buffer
		log, err := newLogger(Log{Level: level, Format: "json"}, &out)
		require.NoError(t, err)
		fields := []zap.Field{
			zap.NamedError("nil_pointer", (*stumbling)(nil)), zap.NamedError("fault", &stumbling{}), zap.NamedError("none", nil),
			zap.Stringer("nil_text", (*net.TCPAddr)(nil)), zap.Stringer("nil_name", (*url.URL)(nil)), zap.Stringer("text", stumblingText{&stumbling{}}),
			zap.Stringer("long", longText{}), zap.Errors("all", []error{(*stumbling)(nil), &stumbling{}, nil, errors.New("good")}),
			zap.Any("any", (*stumbling)(nil)), zap.String("client_id", "c"),
		}
		log.With(fields...).Warn("closed", fields...)
		var line map[string]any
		require.NoError(t, json.Unmarshal(out.Bytes(), &line))
		require.Equal(t, "closed", line["msg"])
		require.Equal(t, "<nil>", line["nil_pointer"])
		require.Equal(t, "PANIC=nothing to say", line["faultError"])
		require.Equal(t, "<nil>", line["nil_text"])
		require.Equal(t, "<nil>", line["nil_name"])
		require.Equal(t, "PANIC=nothing to say", line["textError"])
		require.Equal(t, strings.Repeat("x", maxField)+"…", line["long"])
		require.Equal(t, "<nil>", line["any"])
		require.Equal(t, "c", line["client_id"], "what comes after it is written")
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
