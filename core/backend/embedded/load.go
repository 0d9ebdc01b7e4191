package embedded

import (
	"bytes"
	"context"
	"errors"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

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
	// compacted has the generations of the segments that compaction wrote, which
	// are in sealed as well.
	compacted map[int64]uint32
	files     []int64 // base offsets, not sorted
	start     int64   // log start that DeleteRecords has set
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
			all[id] = &found{p: ps[index], sealed: map[int64]segmentValue{}, compacted: map[int64]uint32{}}
		}
		return all[id]
	}
	each := func(kind byte, size int, fn func(f *found, key, value []byte) error) error {
		return s.meta.scan(plainKey(kind), func(key, value []byte) error {
			if len(key) != size && (kind != keyDropped || len(key) != size+4) {
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
	err = each(keyStart, numberKeySize-8, func(f *found, _, value []byte) (err error) {
		f.start, err = decodeStart(value)
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
	if err := s.loadCompacted(each); err != nil {
		return err
	}
	dropped := map[string][]byte{}
	err = each(keyDropped, numberKeySize, func(f *found, key, _ []byte) error {
		base, generation, _ := splitDropped(key)
		dropped[s.fs.PathJoin(f.p.topic.dir, segmentFile(f.p.index, base, generation))] = bytes.Clone(key)
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
			index, base, generation, ok := parseSegmentFile(name)
			if !ok {
				continue
			}
			f := at(t, index)
			if f == nil {
				continue
			}
			if generation != f.compacted[base] {
				s.log.Warn("a segment file is not the one that the metadata names and is left alone",
					zap.String("topic", t.name), zap.String("file", s.fs.PathJoin(t.dir, name)))
				continue
			}
			f.files = append(f.files, base)
		}
	}
	return nil
}
