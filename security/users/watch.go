package users

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long nothing may happen to a file before it is read again: editors
// and configuration management change it in several steps.
const quiet = 100 * time.Millisecond

// watch calls a function after a file has changed.
type watch struct {
	notify *fsnotify.Watcher
	done   chan struct{}
}

// watchFile begins to watch. It looks at the folders of the file and of what it
// links to, because most programs put a new file in the place of the old one.
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
	for {
		select {
		case _, open := <-w.notify.Events:
			if !open {
				return
			}
			due = time.After(quiet)
		case _, open := <-w.notify.Errors: // events were lost
			if !open {
				return
			}
			due = time.After(quiet)
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
