package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/internal/porttest"
)

// What the topic of TestToolsOutliveKills has.
const (
	written  = 100
	startsAt = 40 // records before it are deleted
	readUpTo = 60 // by a consumer that has stopped
	resetTo  = 50
	stopped  = "stopped"
)

// TestToolsOutliveKills has tools delete records, list a group that has stopped, reset
// and delete it, and describe producers and sizes, with a kill before each look.
func TestToolsOutliveKills(t *testing.T) {
	for _, victim := range victims() {
		t.Run(victim, func(t *testing.T) {
			eachServer(t, func(t *testing.T, iggy iggytest.Server) {
				s := &tools{T: t, iggy: iggy, gateway: startGateway(t, iggy.Address(), "--groups.coordinator", durable), victim: victim}
				s.prepare()
				s.kill()
				s.look(readUpTo)
				var reset kadm.Offsets
				reset.AddOffset(once, 0, resetTo, -1)
				require.NoError(t, s.admin.CommitAllOffsets(t.Context(), stopped, reset))
				s.kill()
				s.look(resetTo)
				_, err := s.admin.DeleteGroup(t.Context(), stopped)
				require.NoError(t, err)
				s.kill()
				listed, err := s.admin.ListGroups(t.Context())
				require.NoError(t, err)
				require.Empty(t, listed)
				require.Empty(t, clienttest.NewObserver(t, s.gateway.addr).Committed(t, stopped, once))
			})
		})
	}
}

type tools struct {
	*testing.T
	iggy    iggytest.Server
	gateway *process
	victim  string
	admin   *kadm.Client // of this life of the gateway
}

func (s *tools) connect() {
	s.Helper()
	var err error
	s.admin, err = kadm.NewOptClient(kgo.SeedBrokers(s.gateway.addr))
	require.NoError(s, err)
	s.Cleanup(s.admin.Close)
}

func (s *tools) kill() {
	s.Helper()
	if s.victim != "iggy" {
		s.gateway.kill()
	}
	if s.victim != "gateway" {
		s.iggy.Kill()
		s.iggy.Start()
	}
	if s.victim != "iggy" {
		s.gateway.launch()
		s.gateway.await()
	}
	s.connect()
	require.Eventually(s, func() bool {
		dirs, err := s.admin.DescribeAllLogDirs(s.Context(), nil)
		back := err == nil
		dirs.Each(func(dir kadm.DescribedLogDir) { back = back && dir.Err == nil })
		return back
	}, patience, 10*time.Millisecond, "the gateway is not connected to Iggy again")
}

func (s *tools) prepare() {
	s.connect()
	_, err := s.admin.CreateTopic(s.Context(), 1, 1, nil, once)
	require.NoError(s, err)
	c, err := kgo.NewClient(kgo.SeedBrokers(s.gateway.addr), kgo.DefaultProduceTopic(once), kgo.ConsumeTopics(once), kgo.ConsumerGroup(stopped),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(s, err)
	defer c.Close()
	for i := range written {
		require.NoError(s, c.ProduceSync(s.Context(), kgo.StringRecord(strconv.Itoa(i))).FirstErr())
	}
	for at := 0; at < readUpTo; {
		fetches := c.PollRecords(s.Context(), readUpTo-at)
		require.NoError(s, fetches.Err())
		at += fetches.NumRecords()
	}
	require.NoError(s, c.CommitUncommittedOffsets(s.Context()))
	c.CloseAllowingRebalance()
	var before kadm.Offsets
	before.AddOffset(once, 0, startsAt, -1)
	deleted, err := s.admin.DeleteRecords(s.Context(), before)
	require.NoError(s, err)
	require.NoError(s, deleted.Error())
}

// look asks for everything.
func (s *tools) look(committed int64) {
	s.Helper()
	ctx := s.Context()
	lags, err := s.admin.Lag(ctx, stopped)
	require.NoError(s, err)
	require.NoError(s, lags.Error())
	lag, _ := lags[stopped].Lag.Lookup(once, 0)
	require.Equal(s, "Empty", lags[stopped].State)
	require.Equal(s, "consumer", lags[stopped].ProtocolType)
	require.EqualValues(s, []int64{startsAt, written, committed, written - committed},
		[]int64{lag.Start.Offset, lag.End.Offset, lag.Commit.At, lag.Lag})

	found, err := s.admin.ListOffsetsAfterMilli(ctx, 1, once)
	require.NoError(s, err)
	offset, _ := found.Lookup(once, 0)
	require.NoError(s, offset.Err)
	require.EqualValues(s, startsAt, offset.Offset, "the first record by time")

	dirs, err := s.admin.DescribeAllLogDirs(ctx, nil)
	require.NoError(s, err)
	dirs.Each(func(dir kadm.DescribedLogDir) {
		require.NoError(s, dir.Err)
		require.Positive(s, dir.Size())
	})
	producers, err := s.admin.DescribeProducers(ctx, kadm.TopicsSet{once: {0: {}}})
	require.NoError(s, err)
	producers.Each(func(topic kadm.DescribedProducersTopic) {
		topic.Partitions.Each(func(p kadm.DescribedProducersPartition) { require.NoError(s, p.Err) })
	})
	require.Len(s, producers.SortedProducers(), 1)
	require.EqualValues(s, written-1, producers.SortedProducers()[0].LastSequence)

	s.reads(kgo.NewOffset().At(0), startsAt) // which is out of range, so from the start
	s.reads(kgo.NewOffset().At(startsAt+1), startsAt+1)
	s.readsNatively()
}

// reads reads one record.
func (s *tools) reads(from kgo.Offset, want int64) {
	s.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(s.gateway.addr), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{once: {0: from}}))
	require.NoError(s, err)
	defer c.Close()
	fetches := c.PollFetches(s.Context())
	require.NoError(s, fetches.Err())
	require.Equal(s, want, fetches.Records()[0].Offset)
	require.Equal(s, fmt.Sprint(want), string(fetches.Records()[0].Value))
}

// readsNatively finds that Iggy still has what was deleted.
func (s *tools) readsNatively() {
	s.Helper()
	cfg := client.DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = s.iggy.Address(), iggytest.Username, iggytest.Password
	c, err := client.New(cfg, client.Options{})
	require.NoError(s, err)
	defer c.Close()
	require.NoError(s, c.Start(s.Context()))
	polled, err := c.Poll(s.Context(), client.Topic{Stream: "kafka", Name: once}, 0, iggcon.OffsetPollingStrategy(0), written)
	require.NoError(s, err)
	require.Len(s, polled.Messages, written)
}

// TestStartWhileIggyIsAway has a gateway wait for Iggy: it is not ready, and says why,
// until Iggy is there, and then it has its groups.
func TestStartWhileIggyIsAway(t *testing.T) {
	eachServer(t, func(t *testing.T, iggy iggytest.Server) {
		listen := porttest.Address(t)
		s := &tools{T: t, iggy: iggy, gateway: startGateway(t, iggy.Address(), "--groups.coordinator", durable, "--admin.listen", listen)}
		s.prepare()
		s.gateway.kill()
		s.iggy.Kill()
		s.gateway.launch()
		require.Eventually(t, func() bool {
			status, text := readiness(t, listen)
			return status == http.StatusServiceUnavailable && text != ""
		}, patience, 10*time.Millisecond)
		_, text := readiness(t, listen)
		t.Log(text)
		require.Contains(t, text, "store: it waits for the Iggy server at "+iggy.Address())
		s.iggy.Start()
		s.gateway.await()
		require.Eventually(t, func() bool { status, _ := readiness(t, listen); return status == http.StatusOK }, patience, 10*time.Millisecond)
		s.connect()
		s.look(readUpTo)
	})
}

// readiness asks /readyz; 0 while nobody answers.
func readiness(t *testing.T, admin string) (status int, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", nil)
	require.NoError(t, err)
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}
