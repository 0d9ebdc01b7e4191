package console_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/memory"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
)

// crowded are the real store and the real groups: n topics of three partitions,
// and n groups, each with a member, and commits for two topics.
func crowded(b testing.TB, n int) console.Sources {
	s := demoSources(b)
	store := embeddedtest.Open(b)
	topics := make([]backend.Topic, n)
	for i := range topics {
		topic, err := store.CreateTopic(b.Context(), backend.NewTopic{Name: fmt.Sprintf("topic-%05d", i), Partitions: 3})
		require.NoError(b, err)
		topics[i] = topic
	}
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay, cfg.RetainClientIdentity = 0, coordinator.On
	groups := memory.New(cfg)
	for i := range n {
		name := fmt.Sprintf("group-%05d", i)
		topic := topics[i]
		join := coordinator.JoinRequest{
			Group: name, ClientID: "client", ClientHost: "/127.0.0.1", SessionTimeout: 10 * time.Minute, ProtocolType: "consumer",
			Protocols: []coordinator.Protocol{{Name: "range", Metadata: subscribe(topic.Name)}},
		}
		joined := groups.Join(b.Context(), join)
		require.Equal(b, coordinator.None, joined.Code)
		groups.Sync(b.Context(), coordinator.SyncRequest{Group: name, MemberID: joined.MemberID, Generation: joined.Generation,
			Assignments: []coordinator.Assignment{{MemberID: joined.MemberID, Data: assign(topic.Name, 0, 1, 2)}}})
		var commits []backend.Commit
		for _, of := range []backend.Topic{topic, topics[0]} {
			for p := range int32(3) {
				commits = append(commits, backend.Commit{Partition: backend.Partition{Topic: of.ID, Index: p}, CommittedOffset: backend.CommittedOffset{LeaderEpoch: -1, CommitTime: demoNow}})
			}
		}
		require.NoError(b, store.CommitOffsets(b.Context(), name, commits))
	}
	s.Store, s.Groups = store, groups
	return s
}

// Pages with a thousand topics and a thousand groups, and with ten thousand.
func BenchmarkPages(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		pages, err := console.New(crowded(b, n))
		require.NoError(b, err)
		for name, path := range map[string]string{
			"overview": "", "topics": "topics", "topics-filtered": "topics?name=99", "topic": "topic?name=topic-00000", "groups": "groups",
			"groups-last": "groups?page=100000", "groups-stable": "groups?state=Stable&name=9", "group": "group?name=group-00500", "live": "live", "security": "security", "apis": "apis",
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					answer := httptest.NewRecorder()
					pages.ServeHTTP(answer, httptest.NewRequestWithContext(b.Context(), "GET", "/console/"+path, nil))
					require.Equal(b, 200, answer.Code)
				}
			})
		}
	}
}
