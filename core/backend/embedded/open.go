package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/zap"
)

const (
	metaDir   = "meta"
	topicsDir = "topics"
	lockFile  = "LOCK"
	// formatVersion is that of keys, values and file names.
	formatVersion = "1"
	// formatCompacted is that of a store that compaction has written to: releases
	// before it would take its segments for missing.
	formatCompacted = "2"
	// roomToOpen is what the metadata store may write while it opens: what its
	// log holds, twice.
	roomToOpen = 8 << 20
)

// run is how an owner left the store, or that it has not left it yet.
type run struct {
	Boot  string `json:"boot"`  // run of the operating system
	Clean bool   `json:"clean"` // everything was on the disk
}

// open does what Start promises.
func (s *Store) open(ctx context.Context) error {
	if err := s.takeDir(); err != nil {
		return err
	}
	// On a full disk the metadata store would try to open for ever.
	if usage, err := s.fs.GetDiskUsage(s.dir); err == nil && usage.AvailBytes < roomToOpen {
		return fmt.Errorf("storage.dir %s: its disk is full (%d MiB are free, and opening it takes %d): make room; nothing has been changed",
			s.cfg.Dir, usage.AvailBytes>>20, roomToOpen>>20)
	}
	s.files = &files{fs: s.fs, limit: s.cfg.OpenFiles}
	if err := s.openMeta(); err != nil {
		return err
	}
	last, err := s.lastRun()
	if err != nil {
		return s.unreadable(err)
	}
	if err := errors.Join(s.loadCluster(), s.loadTopics()); err != nil {
		return s.unreadable(err)
	}
	if err := s.load(ctx, last); err != nil {
		return s.unreadable(err)
	}
	return s.noteRun(run{Boot: s.opts.BootID()})
}

// dirMode is the mode of directories that are made: the store holds the credentials of
// users and everybody's records, which are nobody else's on this machine.
const dirMode = 0o700

// takeDir makes the data directory and locks it.
func (s *Store) takeDir() error {
	if err := s.fs.MkdirAll(s.fs.PathJoin(s.dir, topicsDir), dirMode); err != nil {
		return s.refusal(err)
	}
	lock, err := s.fs.Lock(s.fs.PathJoin(s.dir, lockFile))
	if err == nil {
		s.lock = lock
		return nil
	}
	var errno syscall.Errno
	taken := !errors.As(err, &errno) || errno == syscall.EAGAIN || errno == syscall.EACCES
	if errors.As(err, new(*fs.PathError)) || !taken {
		return s.refusal(err)
	}
	return fmt.Errorf("storage.dir %s is in use by another gateway: stop it, or give this one a directory of its own", s.cfg.Dir)
}

// refusal is the error of a directory that cannot be used.
func (s *Store) refusal(err error) error {
	what := "see to the disk, or choose another directory"
	switch {
	case errors.Is(err, fs.ErrPermission):
		what = "give the user that runs the gateway the right to read and write it, or choose another directory"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		what = "it is not a directory; choose another"
	}
	return fmt.Errorf("storage.dir %s cannot be used: %w: %s", s.cfg.Dir, err, what)
}

// unreadable is the error of a metadata store that is damaged.
func (s *Store) unreadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return s.refusal(err)
	}
	err = oneLine{err}
	return fmt.Errorf("the metadata store %s cannot be read: %w: restore %s from a backup, or move it away to start with an empty one; nothing has been changed",
		s.fs.PathJoin(s.dir, metaDir), err, s.cfg.Dir)
}

// oneLine is an error without line breaks in its text.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

// cause is the log field of an error. zap.Error would print the stacks that
// pebble's errors carry.
func cause(err error) zap.Field { return zap.String("error", oneLine{err}.Error()) }

func (s *Store) openMeta() error {
	dir := s.fs.PathJoin(s.dir, metaDir)
	_, err := s.fs.Stat(dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	left, err := s.fs.List(s.fs.PathJoin(s.dir, topicsDir))
	if err != nil {
		return s.refusal(err)
	}
	if len(left) > 0 {
		// An empty metadata store beside records would make them look deleted.
		if fresh {
			return s.unreadable(fmt.Errorf("it is missing, while there are records of %d topics", len(left)))
		}
		if err := s.checkMeta(dir); err != nil {
			if errors.Is(err, errEmpty) {
				err = fmt.Errorf("%w, while there are records of %d topics", err, len(left))
			}
			return s.unreadable(err)
		}
	}
	how := written
	switch {
	case s.opts.Volatile:
		how = volatile
	case s.cfg.Sync:
		how = synced
	}
	m, err := openMeta(dir, s.fs, how, s.log)
	if err != nil {
		return s.unreadable(err)
	}
	s.meta = m
	v, err := m.get(plainKey(keyFormat))
	if err != nil {
		return s.unreadable(err)
	}
	if fresh {
		// The directories themselves must outlive a loss of power.
		if err := errors.Join(syncDir(s.fs, s.dir), syncDir(s.fs, s.fs.PathDir(s.dir))); err != nil {
			return s.refusal(err)
		}
	}
	if v == nil {
		return m.set(plainKey(keyFormat), []byte(formatVersion), durable)
	}
	if string(v) != formatVersion && string(v) != formatCompacted {
		return fmt.Errorf("storage.dir %s has the layout of another release (%s, not %s): run that release, or choose another directory",
			s.cfg.Dir, v, formatCompacted)
	}
	return nil
}

var errEmpty = errors.New("it is empty")

// checkMeta returns an error if a store of records has lost its metadata. It
// changes nothing: pebble begins anew where its list of files is lost, even in
// part, and removes the files that are not in it.
func (s *Store) checkMeta(dir string) error {
	found, err := pebble.Peek(dir, s.fs)
	if err != nil {
		return err
	}
	if !found.Exists {
		return errEmpty
	}
	m, err := openMeta(dir, s.fs, readOnly, s.log)
	if err != nil {
		return err
	}
	v, err := m.get(plainKey(keyFormat))
	if err == nil && v == nil {
		err = errEmpty
	}
	return errors.Join(err, m.close())
}

func (s *Store) lastRun() (r run, err error) {
	v, err := s.meta.get(plainKey(keyRun))
	if err == nil && v != nil {
		err = json.Unmarshal(v, &r)
	}
	return r, err
}

func (s *Store) noteRun(r run) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.meta.set(plainKey(keyRun), b, durable)
}
