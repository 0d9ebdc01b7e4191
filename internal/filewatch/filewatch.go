// Package filewatch tells when files may have changed, so that they are read again
// without a restart.
//
// It watches the folders of the files and of what they link to, not the files:
// what replaces a file is most often another file, or a link, as Kubernetes swaps one
// above all of a secret's. Since some file systems never tell of a change, and since links
// above a folder are not watched, the files are looked at each [PollEvery], too.
//
// Other files of a folder change as well, and a poll knows of no change at all: whether
// there is anything new is for the owner of the files to find out.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
)

const (
	// PollEvery is how often files are looked at without being told of a change.
	PollEvery = time.Minute
	// longest is how long the folders' not coming to rest may put off a look: other
	// files of a folder may change all the time.
	longest = 2 * time.Second
	// maxLinks bounds a chain of links, as systems do.
	maxLinks = 40
)

// Watch watches files. The zero Watch is told of nothing, and polls.
type Watch struct {
	files   []string
	notify  *fsnotify.Watcher // nil where there is none
	touched chan struct{}     // something happened in a folder
	failed  error             // why changes are seen late

	cancel  context.CancelFunc // nil before Start
	running sync.WaitGroup
}

// New begins to watch the folders of files. Names that are "" are left out. Whoever
// reads the files after it misses no change: what happens before Start is looked at
// after it. Stop must be called in any case.
func New(files ...string) *Watch {
	w := &Watch{files: slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "" })}
	if w.notify, w.failed = fsnotify.NewWatcher(); w.failed != nil {
		return w
	}
	w.failed = w.follow()
	w.touched = make(chan struct{}, 1)
	w.running.Go(w.listen)
	return w
}

// Start calls look when the folders have been left alone for quiet after something
// happened there, after two seconds at the latest, and each [PollEvery]; never twice at
// once. Folders that cannot be watched are told of in the log.
func (w *Watch) Start(quiet time.Duration, log *zap.Logger, look func(now time.Time)) {
	if w.failed != nil {
		log.Warn("changes of files are seen late: they cannot be watched",
			zap.Strings("files", w.files), zap.Duration("every", PollEvery), zap.Error(w.failed))
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.running.Go(func() { w.run(ctx, quiet, look) })
}

// Stop ends the watch. No look is under way when it returns.
func (w *Watch) Stop() {
	if w.cancel != nil {
		w.cancel()
	}
	if w.notify != nil {
		w.notify.Close()
	}
	w.running.Wait()
}

// listen takes what the system tells at once, since some systems tell no more, and add no
// folder, before that is taken.
func (w *Watch) listen() {
	for open := true; open; {
		select {
		case _, open = <-w.notify.Events:
		case _, open = <-w.notify.Errors: // such as too many events at once
		}
		select {
		case w.touched <- struct{}{}:
		default: // nobody has looked since the last time
		}
	}
}

func (w *Watch) run(ctx context.Context, quiet time.Duration, look func(time.Time)) {
	poll := time.NewTicker(PollEvery)
	defer poll.Stop()
	var due <-chan time.Time
	var latest time.Time
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case <-w.touched:
			if due == nil {
				latest = time.Now().Add(longest)
			}
			due = time.After(min(quiet, time.Until(latest)))
			continue
		case now = <-due:
			due = nil
		case now = <-poll.C:
			if due != nil {
				continue // in the middle of a change, after which there is a look
			}
		}
		_ = w.follow() // the poll is there for what cannot be watched
		look(now)
	}
}

// follow watches the folders that the files are in now, and no others: links lead
// elsewhere in time, and a folder may be another one of the same name.
func (w *Watch) follow() (failed error) {
	if w.notify == nil {
		return nil
	}
	now := folders(w.files)
	for _, folder := range now {
		if err := w.notify.Add(folder); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", folder, err))
		}
	}
	for _, before := range w.notify.WatchList() {
		if !slices.Contains(now, before) {
			_ = w.notify.Remove(before) // it may be gone
		}
	}
	return failed
}

// folders returns those in which files, and what they link to, are put in place.
func folders(files []string) (all []string) {
	for _, file := range files {
		for range maxLinks {
			folder := filepath.Dir(file)
			if real, err := filepath.EvalSymlinks(folder); err == nil {
				folder = real
			}
			if !slices.Contains(all, folder) {
				all = append(all, folder)
			}
			target, err := os.Readlink(file)
			if err != nil {
				break // no link
			}
			if file = target; !filepath.IsAbs(target) {
				file = filepath.Join(folder, target)
			}
		}
	}
	return all
}
