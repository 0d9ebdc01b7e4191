package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
	"github.com/iggykafka/gateway/core/backend/offsetfile"
	"github.com/iggykafka/gateway/core/server"
)

// exportOffsets writes all committed offsets to a file, or to standard output
// when none is named. Nothing is written before all are known.
func (p program) exportOffsets(ctx context.Context, l loaded, name string) error {
	return p.withStore(ctx, l, func(ctx context.Context, store backend.Backend) error {
		var out bytes.Buffer
		n, err := offsetfile.Export(ctx, store, &out)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if name != "" {
			err = os.WriteFile(name, out.Bytes(), 0o600)
		} else {
			_, err = out.WriteTo(p.out)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(p.err, "kafka-gateway: exported %s\n", english.Plural(n, "committed offset", ""))
		return nil
	})
}

// importOffsets commits what a file says, or standard input when none is named.
// It is read as a whole before the store is opened.
func (p program) importOffsets(ctx context.Context, l loaded, name string) error {
	in := p.in
	if name != "" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	file, err := offsetfile.Read(in)
	if err != nil {
		return refused(name, err)
	}
	return p.withStore(ctx, l, func(ctx context.Context, store backend.Backend) error {
		done, err := offsetfile.Import(ctx, store, file, time.Now())
		if errors.As(err, new(*offsetfile.Faults)) {
			return refused(name, err)
		}
		if err != nil {
			return fmt.Errorf("import: %w; %s of %s had been imported, and can be again", err,
				english.Plural(done.Offsets, "committed offset", ""), english.Plural(done.Groups, "group", ""))
		}
		fmt.Fprintf(p.err, "kafka-gateway: imported %s of %s\n", english.Plural(done.Offsets, "committed offset", ""), english.Plural(done.Groups, "group", ""))
		return nil
	})
}

// refused is the error of a file that cannot be imported.
func refused(name string, err error) error {
	if name == "" {
		name = "standard input"
	}
	if !errors.As(err, new(*offsetfile.Faults)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	var text strings.Builder
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(&text, "%s: %s", name, line)
	}
	return fmt.Errorf("%s\nnothing was imported", &text)
}

// withStore opens the backend of the composed gateway, and nothing else of it:
// nothing listens. It closes the backend when work has ended. A signal ends
// everything there and then.
func (p program) withStore(ctx context.Context, l loaded, work func(context.Context, backend.Backend) error) error {
	if err := l.hasStore(); err != nil {
		return err
	}
	log, closeLog, err := p.openLog(l)
	if err != nil {
		return err
	}
	defer closeLog()
	l.Admin.Listen = ""
	failed := make(chan struct{}, 1)
	var store backend.Backend
	app := fx.New(
		l.options(log),
		fx.Options(p.modules...),
		fx.Decorate(func() *server.Server { return nil }), // so none is made
		fx.Decorate(func() coordinator.Coordinator { return nil }),
		fx.Decorate(func(fx.Shutdowner) fx.Shutdowner { return shutdowner{failed} }),
		fx.Populate(&store),
	)
	if err := app.Err(); err != nil {
		return l.cause(err)
	}
	if err := p.start(ctx, app); err != nil {
		return ofAnother(l.cause(err))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx, store) }()
	select {
	case err = <-done:
	case <-failed:
		err = errors.New("the store cannot go on; the log says why")
	case s := <-p.signals:
		err = fmt.Errorf("ended by a signal (%v)", s)
	}
	cancel()
	return errors.Join(err, p.stop(app, stopGrace))
}

// hasStore refuses a folder that is not there, as where a relative storage.dir is looked for
// from another folder than the gateway's: to make an empty store of it would look as if
// nobody had committed anything.
func (l loaded) hasStore() error {
	if l.Storage.Backend != string(chosen.Embedded) {
		return nil
	}
	if _, err := os.Stat(l.Storage.Dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // others are told of when the store is opened
	}
	folder, err := filepath.Abs(l.Storage.Dir)
	if err != nil {
		folder = l.Storage.Dir
	}
	return fmt.Errorf("storage.dir: there is no store in %s: name that of the gateway, by its configuration (--config) or by --storage.dir", folder)
}

// ofAnother says of a store that a gateway holds that this one has to be stopped.
func ofAnother(err error) error {
	if errors.As(err, new(*journal.OwnedError)) {
		return fmt.Errorf("%w (offsets are exported and imported while no gateway runs)", err)
	}
	return err
}
