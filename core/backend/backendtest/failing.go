package backendtest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// Failing returns a backend all of whose methods fail with err, for tests of
// what a handler answers then. Watch reports nothing. b, which may be nil,
// answers nothing either: it is taken so that a test can swap one for the other.
func Failing(_ backend.Backend, err error) backend.Backend { return failing{err} }

type failing struct{ err error }

var _ backend.Backend = failing{}

func (f failing) ClusterID(context.Context) (string, error) { return "", f.err }

func (f failing) Topic(context.Context, string) (backend.Topic, error) {
	return backend.Topic{}, f.err
}

func (f failing) TopicByID(context.Context, uuid.UUID) (backend.Topic, error) {
	return backend.Topic{}, f.err
}

func (f failing) AllTopics(context.Context) ([]backend.Topic, error) { return nil, f.err }

func (f failing) CreateTopic(context.Context, backend.NewTopic) (backend.Topic, error) {
	return backend.Topic{}, f.err
}

func (f failing) DeleteTopic(context.Context, uuid.UUID) error { return f.err }

func (f failing) GrowTopic(context.Context, uuid.UUID, int32) error { return f.err }

func (f failing) AlterTopic(context.Context, uuid.UUID, func(map[string]string) (map[string]string, error)) error {
	return f.err
}

func (f failing) Append(_ context.Context, batches []backend.Append) []backend.Appended {
	out := make([]backend.Appended, len(batches))
	for i := range out {
		out[i] = backend.Appended{Err: f.err, BaseOffset: -1, LogStart: -1, AppendTime: -1}
	}
	return out
}

func (f failing) Read(context.Context, backend.Read) ([]byte, backend.Bounds, error) {
	return nil, backend.Bounds{}, f.err
}

func (f failing) Available(context.Context, backend.Partition, int64, int64) (int64, backend.Bounds, error) {
	return 0, backend.Bounds{}, f.err
}

func (f failing) Bounds(context.Context, backend.Partition) (backend.Bounds, error) {
	return backend.Bounds{}, f.err
}

func (f failing) FindTime(context.Context, backend.Partition, int64) (backend.Found, error) {
	return backend.Found{Offset: -1, Timestamp: -1}, f.err
}

func (f failing) FindMaxTime(context.Context, backend.Partition) (backend.Found, error) {
	return backend.Found{Offset: -1, Timestamp: -1}, f.err
}

func (f failing) Watch([]backend.Partition) (<-chan struct{}, func()) {
	return make(chan struct{}), func() {}
}

func (f failing) CommitOffsets(context.Context, string, []backend.Commit) error { return f.err }

func (f failing) FetchOffsets(context.Context, string, []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	return nil, f.err
}

func (f failing) OffsetGroups(context.Context) ([]string, error) { return nil, f.err }

func (f failing) DeleteOffsets(context.Context, string) error { return f.err }

func (f failing) NewProducerID(context.Context) (int64, error) { return -1, f.err }

func (f failing) DeleteRecords(context.Context, backend.Partition, int64) (int64, error) {
	return 0, f.err
}

func (f failing) DescribeProducers(context.Context, backend.Partition) ([]backend.ProducerState, error) {
	return nil, f.err
}

func (f failing) LogDir(context.Context) (backend.LogDir, error) { return backend.LogDir{}, f.err }

func (f failing) Entries(context.Context, string) (map[string][]byte, error) { return nil, f.err }

func (f failing) ChangeEntries(context.Context, string, map[string][]byte) error { return f.err }

func (f failing) Sizes(context.Context, uuid.UUID) ([]int64, error) { return nil, f.err }

func (f failing) EachGroup(context.Context, func(string, []byte) error) error { return f.err }

func (f failing) SaveGroup(context.Context, string, []byte) error { return f.err }

func (f failing) ExpireOffsets(context.Context, string, time.Time, func(string) bool) (int, error) {
	return 0, f.err
}
