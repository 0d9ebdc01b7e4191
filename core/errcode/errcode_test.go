package errcode

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The table of what a failing backend answers, by who asks.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		err                         error
		log, fetch, offsets, topics int16
	}{
		{nil, 0, 0, 0, 0},
		{backend.ErrUnavailable, 6, 6, 14, 41},
		{backend.ErrOutcomeUnknown, 7, 6, 14, 7},
		{context.DeadlineExceeded, 7, 6, 14, 7},
		{context.Canceled, 7, 6, 14, 7},
		{backend.ErrStorage, 56, 56, 14, 56},
		{errors.New("nobody foresaw this"), -1, -1, -1, -1},
		{backend.ErrUnknownTopic, 3, 3, 3, 3},
		{backend.ErrUnknownPartition, 3, 3, 3, 3},
		{backend.ErrTopicExists, 36, 36, 36, 36},
		{backend.ErrTooManyTopics, 44, 44, 44, 44},
		{backend.ErrPartitionCount, 37, 37, 37, 37},
		{backend.ErrOffsetOutOfRange, 1, 1, 1, 1},
		{backend.ErrOutOfOrderSequence, 45, 45, 45, 45},
		{backend.ErrInvalidProducerEpoch, 47, 47, 47, 47},
		{backend.ErrTooLarge, 10, 10, 28, 10},
		{&backend.ConfigError{Name: "a", Reason: "b"}, 40, 40, 40, 40},
	} {
		t.Run(fmt.Sprint(c.err), func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("partition 3: %w", err)
			}
			require.Equal(t, c.log, Log(err))
			require.Equal(t, c.fetch, Fetch(err))
			require.Equal(t, c.offsets, Offsets(err))
			require.Equal(t, c.topics, Topics(err))
		})
	}
}

// A store that cannot tell where its logs lie is a directory that is offline.
func TestDisk(t *testing.T) {
	for err, want := range map[error]int16{
		nil: 0, backend.ErrUnavailable: 56, backend.ErrOutcomeUnknown: 56, context.DeadlineExceeded: 56, backend.ErrStorage: 56,
		errors.New("nobody foresaw this"): -1, backend.ErrUnknownPartition: 3,
	} {
		require.Equal(t, want, Disk(err), "%v", err)
	}
}
