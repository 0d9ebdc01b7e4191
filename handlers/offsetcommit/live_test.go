package offsetcommit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/memory"
	"github.com/iggykafka/gateway/handlers/offsetcommit"
)

// Who may commit to a group that the gateway's own coordinator keeps, by the
// group's state. Compared with a Kafka 4.4 broker at every version; only a
// member of a group that is not there gets another code (there 22, and 69 from
// v9 on, at which the Java consumer throws).
func TestWhoMayCommit(t *testing.T) {
	t.Parallel()
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	groups := memory.New(cfg)
	h := offsetcommit.New(groups, newStore(), limits)
	check := func(state string, group, member string, generation int32, want int16) {
		t.Helper()
		for v := int16(2); v <= 10; v++ {
			req := request(v, group, 0)
			req.MemberID, req.Generation = member, generation
			require.Equal(t, []int16{want}, codes(t, h, req), "%s: v%d member %q generation %d", state, v, member, generation)
		}
	}
	check("absent", "g", "", -1, 0)
	check("absent", "g", "m", -1, 0)
	check("absent", "g", "m", 1, 25)
	check("absent, empty group id", "", "", -1, 0)
	check("absent, empty group id", "", "", 3, 25)

	joined := groups.Join(t.Context(), coordinator.JoinRequest{
		Group: "g", SessionTimeout: 10 * time.Second, ProtocolType: "consumer", Protocols: []coordinator.Protocol{{Name: "range"}},
	})
	m := joined.MemberID
	check("completing", "g", m, 1, 27)
	check("completing", "g", m, 9, 22)
	check("completing", "g", m, -1, 22)
	check("completing", "g", "", -1, 25)
	check("completing", "g", "x", 1, 25)

	require.Equal(t, coordinator.None, groups.Sync(t.Context(), coordinator.SyncRequest{Group: "g", MemberID: m, Generation: 1}).Code)
	check("stable", "g", m, 1, 0)
	check("stable", "g", m, 0, 22)
	check("stable", "g", "", -1, 25)
}
