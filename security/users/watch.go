package users

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A file is read again once nothing has happened in its folder for quiet, since
// editors and configuration management change it in several steps; but after
// longest at the latest, since other files of the folder may change all the time.
const (
	quiet   = 100 * time.Millisecond
	longest = 2 * time.Second
)

// watch calls a function after a file has changed.
type watch struct {
	notify *fsnotify.Watcher
	done   chan struct{}
}

// watchFile begins to watch. It looks at the folders of the file and of what it
// links to, because most programs put a new file in the place of the old one. What
// is read after it returns is no older than what changes are told from.
func watchFile(path string, changed func()) (*watch, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("sasl.users_file: watching %s: %w", path, err)
	}
	folders := map[string]bool{filepath.Dir(path): true}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		folders[filepath.Dir(target)] = true
	}
	for folder := range folders {
		if err := notify.Add(folder); err != nil {
			notify.Close()
			return nil, fmt.Errorf("sasl.users_file: watching %s: %w", folder, err)
		}
	}
	w := &watch{notify: notify, done: make(chan struct{})}
	before, _ := os.Stat(path)
	go w.run(path, before, changed)
	return w, nil
}

func (w *watch) run(path string, before os.FileInfo, changed func()) {
	defer close(w.done)
	var due <-chan time.Time
	var latest time.Time
	happened := func() {
		if due == nil {
			latest = time.Now().Add(longest)
		}
		due = time.After(min(quiet, time.Until(latest)))
	}
	for {
		select {
		case _, open := <-w.notify.Events:
			if !open {
				return
			}
			happened()
		case _, open := <-w.notify.Errors: // events were lost
			if !open {
				return
			}
			happened()
		case <-due:
			due = nil
			// Other files of the folder change, too.
			if now, err := os.Stat(path); err != nil || !same(before, now) {
				before = now
				changed()
			}
		}
	}
}

func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

func (w *watch) stop() {
	w.notify.Close()
	<-w.done
}
