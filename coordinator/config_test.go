package coordinator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/coordinator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	require.Empty(t, coordinator.DefaultConfig().Validate())
}

func TestValidateNamesEveryFault(t *testing.T) {
	t.Parallel()
	c := coordinator.Config{MaxSessionTimeout: -time.Second, MaxRebalanceTimeout: -1, InitialRebalanceDelay: -time.Minute}
	require.EqualError(t, errors.Join(c.Validate()...), `groups.min_session_timeout: 0s is not positive
groups.max_session_timeout: -1s is below groups.min_session_timeout, 0s
groups.max_rebalance_timeout: -1ns is negative
groups.initial_rebalance_delay: -1m0s is negative
groups.new_member_join_timeout: 0s is not positive
groups.max_groups: 0 is not positive
groups.max_members: 0 is not positive
groups.max_total_members: 0 is not positive
groups.max_protocols: 0 is not positive
groups.max_member_bytes: 0 is not positive
groups.max_roster_bytes: 0 is not positive
groups.memory_budget: 0 is not positive
groups.offsets_retention: 0s is not positive
groups.offsets_check_interval: 0s is not positive`)
}

func TestCodeNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "REBALANCE_IN_PROGRESS", coordinator.RebalanceInProgress.String())
	require.Equal(t, "code 999", coordinator.Code(999).String())
}

func TestSumCountsBothWaysOfWritingLengths(t *testing.T) {
	t.Parallel()
	var s coordinator.Sum
	for _, n := range []int{-1, 0, 126, 127, 16383} { // a varint of n+1 grows at 2^7 and 2^14
		s.Add(n, 1)
	}
	require.Equal(t, coordinator.Sum{Count: 5, Bytes: 126 + 127 + 16383, Prefixes: 1 + 1 + 1 + 2 + 3}, s)
	require.Equal(t, int64(5*2+126+127+16383), s.Legacy(2))
	require.Equal(t, int64(8+126+127+16383), s.Compact())
	for _, n := range []int{16383, 127, 126, 0, -1} {
		s.Add(n, -1)
	}
	require.Zero(t, s)
}
