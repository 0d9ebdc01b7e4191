package durable_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/coordinatortest"
	"github.com/iggykafka/gateway/coordinator/durable"
)

// subscription is what a consumer of a version sends, KIP-429: v1 adds owned
// partitions, v2 a generation, v3 a rack.
func subscription(version int16, topics ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(len(topics)))
	for _, t := range topics {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(t))), t...)
	}
	b = binary.BigEndian.AppendUint32(b, 0xffffffff)
	return append(b, make([]byte, []int{0, 4, 8, 10}[version])...)
}

func quick() coordinator.Config {
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay, cfg.OffsetsRetention, cfg.OffsetsCheckInterval = 0, time.Hour, 10*time.Minute
	return cfg
}

// stable joins a member with metadata and brings its group to Stable.
func stable(t *testing.T, c *durable.Coordinator, group, protocolType string, metadata []byte) coordinator.HeartbeatRequest {
	j := c.Join(t.Context(), coordinator.JoinRequest{
		Group: group, ClientID: "c", SessionTimeout: 30 * time.Minute, ProtocolType: protocolType,
		Protocols: []coordinator.Protocol{{Name: "range", Metadata: metadata}},
	})
	require.Equal(t, coordinator.None, j.Code)
	s := c.Sync(t.Context(), coordinator.SyncRequest{Group: group, MemberID: j.MemberID, Generation: j.Generation})
	require.Equal(t, coordinator.None, s.Code)
	return coordinator.HeartbeatRequest{Group: group, MemberID: j.MemberID, Generation: j.Generation}
}

// Of a group with members, offsets of topics expire that no member subscribes to.
func TestOffsetsOfTopicsThatNobodySubscribesTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &coordinatortest.Ledger{}
		c := open(t, quick(), ledger)
		var members []coordinator.HeartbeatRequest
		for v := range int16(4) {
			group := fmt.Sprint("v", v)
			members = append(members, stable(t, c, group, "consumer", subscription(v, "kept", "other")))
		}
		members = append(members,
			stable(t, c, "unreadable", "consumer", []byte("?")),
			stable(t, c, "connect", "connect", subscription(0, "kept")))
		for _, m := range members {
			ledger.Commit(m.Group, "kept", time.Now())
			ledger.Commit(m.Group, "gone", time.Now())
		}
		for range 7 {
			time.Sleep(10 * time.Minute)
			for _, m := range members {
				require.Equal(t, coordinator.None, c.Heartbeat(t.Context(), m))
			}
		}
		synctest.Wait()
		for v := range 4 {
			require.Equal(t, []string{"kept"}, ledger.Topics(fmt.Sprint("v", v)))
		}
		require.Equal(t, []string{"gone", "kept"}, ledger.Topics("unreadable"))
		require.Equal(t, []string{"gone", "kept"}, ledger.Topics("connect"))
	})
}

// A ledger that fails in the middle of a check stops that check, and not the next.
func TestCheckGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &coordinatortest.Ledger{}
		ledger.Commit("g", "t", time.Now())
		core, logged := observer.New(zap.WarnLevel)
		c := durable.New(quick(), ledger, zap.New(core))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop(context.Background())
		time.Sleep(65 * time.Minute)
		ledger.Fail(errors.New("away"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Len(t, logged.FilterMessageSnippet("offsets cannot be checked").All(), 1)
		ledger.Fail(nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Empty(t, ledger.Topics("g"))
		require.Empty(t, c.List(t.Context(), coordinator.Filter{}))
	})
}

// A state that cannot be read costs its group's members, and nothing else: its
// offsets keep it, and it can be removed.
func TestUnreadableState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &coordinatortest.Ledger{}
		ledger.SetState("bad", []byte("?"))
		ledger.Commit("good", "t", time.Now())
		core, logged := observer.New(zap.ErrorLevel)
		c := durable.New(quick(), ledger, zap.New(core))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop(context.Background())
		require.Len(t, logged.All(), 1)
		require.Equal(t, "bad", logged.All()[0].ContextMap()["group"])
		require.Len(t, c.List(t.Context(), coordinator.Filter{States: []string{"Empty"}}), 2)
		require.Equal(t, coordinator.None, c.Remove(t.Context(), "bad"))
		require.Nil(t, ledger.State("bad"))
	})
}

// Stopped while the ledger is away, it ends, and so does who waits for it.
func TestStopWhileLoading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &coordinatortest.Ledger{}
		ledger.Fail(errors.New("away"))
		c := durable.New(quick(), ledger, zap.NewNop())
		require.NoError(t, c.Start(t.Context()))
		failed := make(chan error, 1)
		go func() {
			_, err := c.Describe(t.Context(), []string{"g"}, coordinator.Bill{})
			failed <- err
		}()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Empty(t, c.List(ctx, coordinator.Filter{}))
		require.Equal(t, coordinator.CoordinatorLoadInProgress, c.Remove(t.Context(), "g"))
		synctest.Wait()
		require.EqualError(t, c.Healthy(t.Context()), "load groups: away")
		require.NoError(t, c.Stop(context.Background()))
		require.Error(t, <-failed)
	})
}

// Of saves that fail in a row the first is logged.
func TestFailedSavesAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &coordinatortest.Ledger{}
		core, logged := observer.New(zap.WarnLevel)
		c := durable.New(quick(), ledger, zap.New(core))
		require.Error(t, c.Healthy(t.Context()))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop(context.Background())
		require.NoError(t, c.Healthy(t.Context()))
		m := stable(t, c, "g", "consumer", nil)
		ledger.Fail(errors.New("away"))
		_, codes := c.Leave(t.Context(), "g", []coordinator.Identity{{MemberID: m.MemberID}})
		require.Equal(t, []coordinator.Code{coordinator.None}, codes)
		time.Sleep(10 * time.Minute) // it is tried again and again
		require.Len(t, logged.FilterMessageSnippet("cannot be saved").All(), 1)
		require.Equal(t, "g", logged.All()[0].ContextMap()["group"])
		ledger.Fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Less(t, len(ledger.State("g")), 64, "empty")
	})
}
