package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	metaDir   = "meta"
	topicsDir = "topics"
	// formatVersion is that of keys, values and file names.
	formatVersion = "1"
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

// takeDir makes the data directory and locks it.
func (s *Store) takeDir() error {
	if err := s.fs.MkdirAll(s.fs.PathJoin(s.dir, topicsDir), 0o755); err != nil {
		return s.refusal(err)
	}
	lock, err := s.fs.Lock(s.fs.PathJoin(s.dir, "LOCK"))
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
	if fresh {
		// An empty metadata store beside records would make them look deleted.
		left, err := s.fs.List(s.fs.PathJoin(s.dir, topicsDir))
		if err != nil {
			return s.refusal(err)
		}
		if len(left) > 0 {
			return s.unreadable(fmt.Errorf("it is missing, while there are records of %d topics", len(left)))
		}
	}
	m, err := openMeta(dir, s.fs, s.cfg.Sync, s.log)
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
	if string(v) != formatVersion {
		return fmt.Errorf("storage.dir %s has the layout of another release (%s, not %s): run that release, or choose another directory",
			s.cfg.Dir, v, formatVersion)
	}
	return nil
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

// loadTopics reads the topics and removes what is left of deleted ones.
func (s *Store) loadTopics() error {
	var doomed []uuid.UUID
	err := s.meta.scan(plainKey(keyDoomed), func(key, _ []byte) error {
		if len(key) != 17 {
			return errValue
		}
		doomed = append(doomed, uuid.UUID(key[1:]))
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range doomed {
		if err := s.removeFiles(id); err != nil {
			s.log.Warn("files of a deleted topic cannot be removed", zap.Stringer("id", id), cause(err))
		}
	}
	return s.meta.scan(plainKey(keyTopic), func(key, value []byte) error {
		v, err := decodeTopic(value)
		if err != nil || len(key) != 17 || v.Partitions < 1 {
			return errors.Join(errValue, err)
		}
		t := s.newTopic(uuid.UUID(key[1:]), v)
		s.byName[t.name], s.byID[t.id] = t, t
		s.partitions += int(v.Partitions)
		return nil
	})
}

// found is what the metadata and the directory say about a partition.
type found struct {
	p      *partition
	state  *partitionState
	sealed map[int64]segmentValue // by base offset
	files  []int64                // base offsets, not sorted
}

// load brings all partitions to the state of their files.
func (s *Store) load(ctx context.Context, last run) error {
	all := map[backend.Partition]*found{}
	at := func(t *topic, index int32) *found {
		ps := *t.partitions.Load()
		if index < 0 || int(index) >= len(ps) {
			return nil
		}
		id := backend.Partition{Topic: t.id, Index: index}
		if all[id] == nil {
			all[id] = &found{p: ps[index], sealed: map[int64]segmentValue{}}
		}
		return all[id]
	}
	each := func(kind byte, size int, fn func(f *found, key, value []byte) error) error {
		return s.meta.scan(plainKey(kind), func(key, value []byte) error {
			if len(key) != size {
				return errValue
			}
			id, index := splitPartition(key)
			t := s.byID[id]
			if t == nil {
				return nil
			}
			if f := at(t, index); f != nil {
				return fn(f, key, value)
			}
			return nil
		})
	}
	err := each(keyState, numberKeySize-8, func(f *found, _, value []byte) error {
		v, err := decodeState(value)
		f.state = &v
		return err
	})
	if err != nil {
		return err
	}
	err = each(keySegment, numberKeySize, func(f *found, key, value []byte) error {
		v, err := decodeSegment(value)
		f.sealed[lastNumber(key)] = v
		return err
	})
	if err != nil {
		return err
	}
	dropped := map[string][]byte{}
	err = each(keyDropped, numberKeySize, func(f *found, key, _ []byte) error {
		dropped[s.fs.PathJoin(f.p.topic.dir, segmentFile(f.p.index, lastNumber(key)))] = bytes.Clone(key)
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.removeDropped(dropped); err != nil {
		return err
	}
	if err := s.listFiles(at); err != nil {
		return err
	}
	return s.recoverAll(ctx, all, last)
}

// listFiles finds the segment files of all topics.
func (s *Store) listFiles(at func(*topic, int32) *found) error {
	dirs, err := s.fs.List(s.fs.PathJoin(s.dir, topicsDir))
	if err != nil {
		return err
	}
	for _, name := range dirs {
		id, err := uuid.Parse(name)
		t := s.byID[id]
		if err != nil || t == nil {
			s.log.Warn("a directory belongs to no topic and is left alone", zap.String("dir", s.fs.PathJoin(s.dir, topicsDir, name)))
			continue
		}
		t.made.Store(true)
		names, err := s.fs.List(t.dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			index, base, ok := parseSegmentFile(name)
			if !ok {
				continue
			}
			if f := at(t, index); f != nil {
				f.files = append(f.files, base)
			}
		}
	}
	return nil
}
