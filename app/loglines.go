package app

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// telling adds to a line how many have been left out since the last one.
type telling struct {
	zapcore.Core
	leftOut *atomic.Int64
}

// Check implements zapcore.Core.
func (t telling) Check(line zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if t.Enabled(line.Level) {
		return to.AddCore(line, t)
	}
	return to
}

// Write implements zapcore.Core.
func (t telling) Write(line zapcore.Entry, fields []zapcore.Field) error {
	if n := t.leftOut.Swap(0); n > 0 {
		fields = append(fields, zap.Int64("left_out_before", n))
	}
	return t.Core.Write(line, fields)
}

// With implements zapcore.Core.
func (t telling) With(fields []zapcore.Field) zapcore.Core {
	return telling{t.Core.With(fields), t.leftOut}
}

// short cuts the fields of lines, which may hold what clients chose.
type short struct{ zapcore.Core }

// maxField bounds one text of a line, in bytes: enough for every message of the
// gateway's own, and far below what one request can name.
const maxField = 2 << 10

// Check implements zapcore.Core.
func (s short) Check(line zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if s.Enabled(line.Level) {
		return to.AddCore(line, s)
	}
	return to
}

// Write implements zapcore.Core.
func (s short) Write(line zapcore.Entry, fields []zapcore.Field) error {
	return s.Core.Write(line, shortened(fields))
}

// With implements zapcore.Core.
func (s short) With(fields []zapcore.Field) zapcore.Core {
	return short{s.Core.With(shortened(fields))}
}

// shortened cuts texts, and what errors and other values say of themselves. Stacks,
// which nobody chooses, are zap.ByteString.
func shortened(fields []zapcore.Field) []zapcore.Field {
	kept := slices.Clone(fields) // they are the caller's
	for i, f := range kept {
		if text := textOf(f); len(text) > maxField {
			kept[i] = zap.String(f.Key, strings.ToValidUTF8(text[:maxField], "")+"…")
		}
	}
	return kept
}

// textOf returns the text of a field, "" for one without. A nil pointer in an
// interface, or a method with a fault of its own, may panic: zap, which asks again when
// it writes the field, says so in the line, so that nothing is left to do here.
func textOf(f zapcore.Field) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	switch value := f.Interface.(type) {
	case error:
		if f.Type == zapcore.ErrorType {
			return value.Error()
		}
	case fmt.Stringer:
		if f.Type == zapcore.StringerType {
			return value.String()
		}
	}
	return f.String
}

// sampled leaves lines out, but for those of the audit, which has limits of its own
// and tells how many it left out.
type sampled struct {
	zapcore.Core
	all zapcore.Core
}

const auditName = "audit"

// Check implements zapcore.Core.
func (s sampled) Check(line zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if line.LoggerName == auditName {
		return s.all.Check(line, to)
	}
	return s.Core.Check(line, to)
}

// With implements zapcore.Core.
func (s sampled) With(fields []zapcore.Field) zapcore.Core {
	return sampled{s.Core.With(fields), s.all.With(fields)}
}

// sameLines is how many lines with the same message a minute has, whatever their
// fields. Those that follow are left out, and the next line says how many they were.
const sameLines = 100
