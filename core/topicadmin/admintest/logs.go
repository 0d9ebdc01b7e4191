package admintest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// Logs is a Topics whose partitions have logs: not records, but what tools ask
// of them. A partition has an empty log unless Set says otherwise.
type Logs struct {
	*Topics
	// Dir is what LogDir answers.
	Dir backend.LogDir

	mu   sync.Mutex
	logs map[backend.Partition]Log
}

// Log is one of them.
type Log struct {
	backend.Bounds
	Size      int64 // bytes
	Producers []backend.ProducerState
}

// NewLogs returns a store without topics in the directory /logs, on a volume of
// 1000 bytes with 600 free ones.
func NewLogs(t testing.TB) *Logs {
	return &Logs{
		Topics: New(t),
		Dir:    backend.LogDir{Path: "/logs", Total: 1000, Usable: 600},
		logs:   map[backend.Partition]Log{},
	}
}

// Set replaces the log of a partition.
func (s *Logs) Set(p backend.Partition, l Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[p] = l
}

func (s *Logs) log(method string, p backend.Partition) (Log, error) {
	if err := s.before(method); err != nil {
		return Log{}, err
	}
	s.Topics.mu.Lock()
	t, err := s.byID(p.Topic)
	s.Topics.mu.Unlock()
	if err != nil {
		return Log{}, err
	}
	if p.Index < 0 || p.Index >= t.Partitions {
		return Log{}, backend.ErrUnknownPartition
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[p], nil
}

func (s *Logs) Bounds(_ context.Context, p backend.Partition) (backend.Bounds, error) {
	l, err := s.log("Bounds", p)
	return l.Bounds, err
}

func (s *Logs) DeleteRecords(_ context.Context, p backend.Partition, before int64) (int64, error) {
	l, err := s.log("DeleteRecords", p)
	if err != nil {
		return 0, err
	}
	if before > l.End {
		return 0, fmt.Errorf("offset %d: %w", before, backend.ErrOffsetOutOfRange)
	}
	l.Start = max(l.Start, before)
	s.Set(p, l)
	return l.Start, nil
}

func (s *Logs) DescribeProducers(_ context.Context, p backend.Partition) ([]backend.ProducerState, error) {
	l, err := s.log("DescribeProducers", p)
	return l.Producers, err
}

func (s *Logs) LogDir(context.Context) (backend.LogDir, error) {
	if err := s.before("LogDir"); err != nil {
		return backend.LogDir{}, err
	}
	return s.Dir, nil
}

func (s *Logs) Sizes(_ context.Context, topic uuid.UUID) ([]int64, error) {
	if err := s.before("Sizes"); err != nil {
		return nil, err
	}
	s.Topics.mu.Lock()
	t, err := s.byID(topic)
	s.Topics.mu.Unlock()
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, t.Partitions)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range sizes {
		sizes[i] = s.logs[backend.Partition{Topic: topic, Index: int32(i)}].Size
	}
	return sizes, nil
}

// Commands returns those of Topics, and:
//
//	log topic=orders partition=1 start=2 end=5 size=120
//	producer topic=orders partition=1 id=7 epoch=1 sequence=4 time=1000
//
// The first replaces a log, the second adds a producer to it; what is left out
// is 0.
func (s *Logs) Commands() map[string]func(*testing.T, *datadriven.TestData) string {
	commands := s.Topics.Commands()
	of := func(t *testing.T, d *datadriven.TestData) backend.Partition {
		var topic string
		var index int32
		d.ScanArgs(t, "topic", &topic)
		d.MaybeScanArgs(t, "partition", &index)
		found, err := s.Topic(context.Background(), topic)
		require.NoError(t, err)
		return backend.Partition{Topic: found.ID, Index: index}
	}
	commands["log"] = func(t *testing.T, d *datadriven.TestData) string {
		p, l := of(t, d), Log{}
		d.MaybeScanArgs(t, "start", &l.Start)
		d.MaybeScanArgs(t, "end", &l.End)
		d.MaybeScanArgs(t, "size", &l.Size)
		s.Set(p, l)
		return "ok"
	}
	commands["producer"] = func(t *testing.T, d *datadriven.TestData) string {
		p := of(t, d)
		l, err := s.log("", p)
		require.NoError(t, err)
		var made backend.ProducerState
		var epoch int32 // datadriven reads no int16
		d.ScanArgs(t, "id", &made.ID)
		d.MaybeScanArgs(t, "epoch", &epoch)
		d.MaybeScanArgs(t, "sequence", &made.LastSequence)
		d.MaybeScanArgs(t, "time", &made.LastTimestamp)
		made.Epoch = int16(epoch)
		l.Producers = append(l.Producers, made)
		s.Set(p, l)
		return "ok"
	}
	return commands
}
