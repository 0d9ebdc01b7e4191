package app

import (
	"io"
	"time"

	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes to w as the section "log" says, whose
// values have been checked. Only errors carry a stack trace, and only at debug:
// elsewhere the message itself has to tell an operator what to do.
func newLogger(c Log, w io.Writer) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		return nil, err
	}
	style := zap.NewProductionEncoderConfig()
	style.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00")
	style.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(style)
	if c.Format == "console" {
		style.EncodeLevel = zapcore.CapitalLevelEncoder
		style.ConsoleSeparator = "  "
		encoder = zapcore.NewConsoleEncoder(style)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level)
	if level <= zapcore.DebugLevel {
		return zap.New(core, zap.AddStacktrace(zapcore.ErrorLevel), zap.AddCaller()), nil
	}
	// Clients must not be able to fill the disk by what they are refused for.
	return zap.New(sampled{zapcore.NewSamplerWithOptions(core, time.Minute, sameLines, sameLines), core}), nil
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
// fields; of those that follow, every so many'th is written.
const sameLines = 100

// fxEvents returns a logger for what fx does. At debug it tells which
// constructors ran and which hooks started and stopped what, with the time each
// took; who provides what can be read in the code.
func fxEvents(log *zap.Logger) fxevent.Logger {
	if !log.Core().Enabled(zapcore.DebugLevel) {
		return fxevent.NopLogger
	}
	events := &fxevent.ZapLogger{Logger: log.Named("fx").WithOptions(zap.AddStacktrace(zapcore.FatalLevel))}
	events.UseLogLevel(zapcore.DebugLevel)
	events.UseErrorLevel(zapcore.DebugLevel) // the caller reports errors, in one line
	return fxFilter{events}
}

type fxFilter struct{ fxevent.Logger }

func (f fxFilter) LogEvent(event fxevent.Event) {
	switch event.(type) {
	case *fxevent.Run, *fxevent.OnStartExecuted, *fxevent.OnStopExecuted, *fxevent.RolledBack, *fxevent.Started, *fxevent.Stopped:
		f.Logger.LogEvent(event)
	}
}
