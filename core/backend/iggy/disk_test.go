package iggy

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// diskServer says how large things are.
type diskServer struct {
	server
	stats   iggcon.Stats
	details iggcon.TopicDetails
	err     error
	asked   int
}

func (d *diskServer) Stats(context.Context) (*iggcon.Stats, error) { return &d.stats, d.err }

func (d *diskServer) Topic(context.Context, client.Topic) (*iggcon.TopicDetails, error) {
	d.asked++
	return &d.details, d.err
}

func newDisk(t *testing.T, partitions int32) (*fakes, *diskServer, backend.Topic) {
	f := newFakes(t)
	topic := f.create("t", partitions)
	d := &diskServer{server: f.Store.server}
	f.Store.server = d
	return f, d, topic
}

func TestLogDir(t *testing.T) {
	t.Parallel()
	f, d, _ := newDisk(t, 1)
	for name, c := range map[string]struct {
		stats         iggcon.Stats
		err           error
		total, usable int64
	}{
		"told":           {stats: iggcon.Stats{TotalDiskSpace: 10, FreeDiskSpace: 4}, total: 10, usable: 4},
		"full":           {stats: iggcon.Stats{TotalDiskSpace: 10}, total: 10},
		"huge":           {stats: iggcon.Stats{TotalDiskSpace: math.MaxUint64, FreeDiskSpace: math.MaxUint64}, total: math.MaxInt64, usable: math.MaxInt64},
		"not told":       {total: -1, usable: -1},
		"not allowed":    {err: ierror.ErrUnauthorized, total: -1, usable: -1},
		"cannot be read": {err: errors.Join(backend.ErrUnavailable, client.ErrBadReply), total: -1, usable: -1},
	} {
		d.stats, d.err = c.stats, c.err
		dir, err := f.LogDir(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, backend.LogDir{Path: "iggy://127.0.0.1:8090/kafka", Total: c.total, Usable: c.usable}, dir, name)
	}
	d.err = backend.ErrUnavailable
	_, err := f.LogDir(t.Context())
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

func TestSizes(t *testing.T) {
	t.Parallel()
	f, d, topic := newDisk(t, 3)
	// One is still being loaded, and one was made a moment ago.
	d.details.Partitions = []iggcon.PartitionContract{{Id: 2, SizeBytes: 7}, {Id: 0, SizeBytes: math.MaxUint64}, {Id: 9, SizeBytes: 1}, {Id: math.MaxUint32, SizeBytes: 1}}
	want := []int64{math.MaxInt64, 0, 7}
	for range 5 {
		got, err := f.Sizes(t.Context(), topic.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got[0] = 0 // it is the caller's
	}
	require.Equal(t, 1, d.asked, "an answer is good for a second")
	_, err := f.Sizes(t.Context(), uuid.New())
	require.ErrorIs(t, err, backend.ErrUnknownTopic)

	for _, c := range []struct{ given, want error }{
		{backend.ErrUnavailable, backend.ErrUnavailable},
		{ierror.ErrUnauthorized, backend.ErrStorage},
		{ierror.ErrTopicIdNotFound, backend.ErrUnknownTopic},
	} {
		f, d, topic := newDisk(t, 1)
		d.err = c.given
		_, err := f.Sizes(t.Context(), topic.ID)
		require.ErrorIs(t, err, c.want)
	}

	// Who waits for the turn goes with its context.
	f, _, topic = newDisk(t, 1)
	require.True(t, f.sizing.TryAcquire(1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = f.Sizes(ctx, topic.ID)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// The server says how large its volume is.
func TestLogDirOfTheServer(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		t.Parallel()
		b := newPatientBox(t, start(t), time.Minute)
		dir, err := b.store.LogDir(t.Context())
		require.NoError(t, err)
		require.Equal(t, "iggy://"+b.server.Address()+"/kafka", dir.Path)
		require.Positive(t, dir.Usable)
		require.Greater(t, dir.Total, dir.Usable)
	})
}
