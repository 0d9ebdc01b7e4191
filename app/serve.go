package app

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"strings"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
)

// stopGrace is what the gateway gets beyond the drain time to close its files.
const stopGrace = 5 * time.Second

// errSecondSignal ends the program without order, as asked.
var errSecondSignal = errors.New("ended by a second signal before all requests were answered")

// serve runs a gateway until a signal, the end of ctx, or a failure. The error
// is what the user has to know, in one line.
func (p program) serve(ctx context.Context, l loaded) error {
	log, closeLog, err := p.openLog(l)
	if err != nil {
		return err
	}
	defer closeLog()
	if p.tune != nil {
		defer p.tune(l.Server.MemoryBudget / 8 * 7)() // stacks of threads and the like come on top
	}
	l.warnOfOpenness(log)
	failed := make(chan struct{}, 1)
	var srv *server.Server
	var users security.ScramCredentials
	app := fx.New(
		l.options(log),
		fx.Options(p.modules...),
		fx.Populate(&srv),
		fx.Populate(fx.Annotate(&users, fx.ParamTags(`optional:"true"`))),
		fx.Decorate(func(fx.Shutdowner) fx.Shutdowner { return shutdowner{failed} }),
	)
	if err := app.Err(); err != nil {
		return l.cause(err)
	}
	if err := p.start(ctx, app); err != nil {
		return l.cause(err)
	}
	l.warnOfNobody(ctx, log, users)
	fmt.Fprintf(p.out, "kafka-gateway is ready on %s\n", addresses(srv.Bound()))
	select {
	case s := <-p.signals:
		log.Info("stopping", zap.Stringer("signal", s))
	case <-ctx.Done():
	case <-failed:
		err = errors.New("the gateway cannot go on; the log says why")
	}
	return errors.Join(err, p.stop(app, l.Server.ShutdownDrain+stopGrace))
}

// addresses names the listeners for the ready line. One that is plain is its address
// alone; of several the first comes last, so that the line ends in its address.
func addresses(bound []server.Bound) string {
	if len(bound) == 1 && bound[0].Protocol == server.Plaintext {
		return bound[0].Addr.String()
	}
	var all []string
	for _, b := range append(bound[1:], bound[0]) {
		all = append(all, fmt.Sprintf("%s %s %s", b.Name, b.Protocol, b.Addr))
	}
	return strings.Join(all, ", ")
}

// openLog returns the program's log, and what is to be done at its end. What
// libraries write to the standard log is for their makers, and goes there at
// debug.
func (p program) openLog(l loaded) (*zap.Logger, func(), error) {
	log, err := newLogger(l.Log, p.err)
	if err != nil {
		return nil, nil, err
	}
	before := stdlog.Writer()
	restore, err := zap.RedirectStdLogAt(log.Named("library"), zap.DebugLevel)
	if err != nil {
		return nil, nil, err
	}
	return log, func() {
		restore()
		stdlog.SetOutput(before) // zap takes it for standard error
		_ = log.Sync()           // standard error may be a terminal, which cannot sync
	}, nil
}

// start starts the gateway, for as long as it takes: a store that was not
// closed well reads its tail first. A signal meanwhile ends the program there
// and then, which the store stands as it stands any other sudden end.
func (p program) start(ctx context.Context, app *fx.App) error {
	started := make(chan error, 1)
	go func() { started <- app.Start(ctx) }()
	select {
	case err := <-started:
		return err
	case s := <-p.signals:
		return fmt.Errorf("ended by a signal (%v) before it was ready", s)
	}
}

// stop drains and closes the gateway. Another signal breaks that off: the
// program ends, and the work that is left with it.
func (p program) stop(app *fx.App, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- app.Stop(ctx) }()
	select {
	case err := <-stopped:
		if err != nil {
			return fmt.Errorf("stopped, but not in order: %w", cause(err))
		}
		return nil
	case <-p.signals:
		return errSecondSignal
	}
}

// shutdowner lets a module that cannot go on end the program.
type shutdowner struct{ failed chan<- struct{} }

func (s shutdowner) Shutdown(...fx.ShutdownOption) error {
	select {
	case s.failed <- struct{}{}:
	default: // has been asked already
	}
	return nil
}

// cause returns what an operator has to know of an error of the graph. Lines that begin with
// a key, or with several, say where its value came from, as all faults of a configuration do.
func (l loaded) cause(err error) error {
	err = cause(err)
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		keys, _, _ := strings.Cut(line, ": ")
		for key := range strings.SplitSeq(keys, ", ") {
			if origin, set := l.origin[key]; set {
				lines[i] += " (" + origin + ")"
				break
			}
		}
	}
	return placed{strings.Join(lines, "\n"), err}
}

// placed is an error with another text.
type placed struct {
	text string
	error
}

func (p placed) Error() string { return p.text }

func (p placed) Unwrap() error { return p.error }

// cause strips what fx wraps around the error of a constructor: the path
// through the graph tells an operator nothing. Of an error of the graph itself
// it leaves what tells those who composed it which module is missing, or which
// two provide the same.
func cause(err error) error {
	root := dig.RootCause(err)
	var ofGraph dig.Error
	if !errors.As(root, &ofGraph) {
		return root
	}
	const failed = "the modules do not fit together: "
	text := oneLine(err)
	switch _, clash, found := strings.Cut(text, "Failed: "); {
	case found:
		return errors.New(failed + clash)
	case strings.HasPrefix(root.Error(), "missing type"):
		return errors.New(failed + oneLine(root) + "; add a module that provides it")
	}
	return errors.New(failed + text)
}
