package app

import (
	"io"
	"sync/atomic"
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
	core := zapcore.Core(short{zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level)})
	if level <= zapcore.DebugLevel {
		return zap.New(core, zap.AddStacktrace(zapcore.ErrorLevel), zap.AddCaller()), nil
	}
	// Clients must not be able to fill the disk by what they are refused for.
	leftOut := new(atomic.Int64)
	count := zapcore.SamplerHook(func(_ zapcore.Entry, did zapcore.SamplingDecision) {
		if did == zapcore.LogDropped {
			leftOut.Add(1)
		}
	})
	return zap.New(sampled{zapcore.NewSamplerWithOptions(telling{core, leftOut}, time.Minute, sameLines, 0, count), core}), nil
}

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
