package faults

import (
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// trim deletes about half of what the group is done with, while it reads on.
func (s *scene) trim() {
	s.t.Helper()
	var to kadm.Offsets
	for at, committed := range s.group.acknowledged() {
		to.AddOffset(at.topic, at.partition, (s.starts[at]+committed)/2, -1)
	}
	deleted, err := s.observer.Admin.DeleteRecords(s.t.Context(), to)
	require.NoError(s.t, err)
	require.NoError(s.t, deleted.Error())
	deleted.Each(func(d kadm.DeleteRecordsResponse) {
		asked, _ := to.Lookup(d.Topic, d.Partition)
		require.Equal(s.t, asked.At, d.LowWatermark)
		s.starts[place{d.Topic, d.Partition}] = d.LowWatermark
	})
}

// startsKept fails the test when a log does not start where records were deleted up to.
func (s *scene) startsKept() {
	s.t.Helper()
	listed, err := s.observer.Admin.ListStartOffsets(s.t.Context(), once, often)
	require.NoError(s.t, err)
	require.NoError(s.t, listed.Error())
	for at, start := range s.starts {
		found, _ := listed.Lookup(at.topic, at.partition)
		require.Equal(s.t, start, found.Offset, "the start of %v", at)
	}
}
