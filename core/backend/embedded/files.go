package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// files opens segment files when they are needed and bounds how many stay open.
type files struct {
	fs    vfs.FS
	limit int

	mu   sync.Mutex
	open []*handle // all open files, in no order
	hand int       // where the search for one to close goes on
}

// handle is the open file of a segment.
type handle struct {
	vfs.File
	slot     *slot
	writable bool
	used     atomic.Bool // since the hand came by
	at       int         // index in files.open
	refs     int         // guarded by slot.mu
}

// slot is where a segment keeps its handle.
type slot struct {
	mu   sync.Mutex
	h    *handle
	gone bool // the file has been deleted: close it when nobody uses it
}

var errGone = errors.New("segment has been deleted")

// acquire opens the file of a slot or finds it open. The caller releases it.
func (f *files) acquire(s *slot, name string, write bool) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, errGone
	}
	if s.h != nil && s.h.refs == 0 && write && !s.h.writable {
		f.forget(s.h)
		s.h.Close()
		s.h = nil
	}
	if s.h == nil || write && !s.h.writable {
		// Opening a file for writing would make a missing one.
		if _, err := f.fs.Stat(name); err != nil {
			return nil, err
		}
		file, err := f.openFile(name, write)
		if err != nil {
			return nil, err
		}
		f.put(s, file, write)
	}
	s.h.refs++
	s.h.used.Store(true)
	return s.h, nil
}

func (f *files) openFile(name string, write bool) (vfs.File, error) {
	if write {
		return f.fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	}
	return f.fs.Open(name)
}

// adopt puts the handle of a file that has just been made into its slot.
func (f *files) adopt(s *slot, file vfs.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.put(s, file, true)
}

// put makes room and keeps the handle; s.mu is held. A handle that is in use
// and is replaced is closed by the last who releases it.
func (f *files) put(s *slot, file vfs.File, writable bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.h != nil {
		f.remove(s.h)
	}
	for tries := 2 * len(f.open); len(f.open) >= f.limit && tries > 0; tries-- {
		f.hand %= len(f.open)
		f.evict(f.open[f.hand])
		f.hand++
	}
	s.h = &handle{File: file, slot: s, writable: writable, at: len(f.open)}
	f.open = append(f.open, s.h)
}

// evict closes a file that nobody uses and that was not used lately.
func (f *files) evict(h *handle) {
	if h.used.Swap(false) || !h.slot.mu.TryLock() {
		return
	}
	defer h.slot.mu.Unlock()
	if h.refs > 0 || h.slot.h != h {
		return
	}
	h.slot.h = nil
	f.remove(h)
	h.Close()
}

func (f *files) forget(h *handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(h)
}

// remove takes a handle off the list; f.mu is held.
func (f *files) remove(h *handle) {
	if h.at >= len(f.open) || f.open[h.at] != h {
		return
	}
	last := len(f.open) - 1
	f.open[h.at] = f.open[last]
	f.open[h.at].at = h.at
	f.open[last] = nil
	f.open = f.open[:last]
}

// release gives a handle back.
func (h *handle) release() {
	s := h.slot
	s.mu.Lock()
	defer s.mu.Unlock()
	h.refs--
	if h.refs == 0 && (s.gone || s.h != h) {
		h.Close()
	}
}

// drop closes the file of a slot, at once or when the last user releases it,
// and keeps it closed.
func (f *files) drop(s *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.h == nil {
		return
	}
	f.forget(s.h)
	if s.h.refs == 0 {
		s.h.Close()
	}
	s.h = nil
}

// closeAll closes what is open; nobody uses a file any more.
func (f *files) closeAll() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, h := range f.open {
		errs = append(errs, h.Close())
	}
	f.open = nil
	return errors.Join(errs...)
}

// remedy says what to do about an error of the file system.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "give the user that runs the gateway the right to read and write it"
	case errors.Is(err, fs.ErrNotExist):
		return "restore it from a backup"
	}
	return "see to the disk, then start the gateway again"
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	return errors.Join(d.Sync(), d.Close())
}
