package console_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// crowdedIggy is a gateway over a real Iggy server: n topics of four partitions,
// with records, and n groups that have committed on one of them.
func crowdedIggy(b testing.TB, n int) (url string, client *kgo.Client) {
	server := iggytest.Real(b, iggytest.NoFsync())
	addr := gatewaytest.Start(b, gatewaytest.Iggy(server.Address(), "crowd"), gatewaytest.Admin(&url),
		gatewaytest.Config(func(c *app.Config) { c.Groups.Coordinator = "durable" }))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(b, err)
	b.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("topic-%05d", i)
	}
	began := time.Now()
	for some := range slices.Chunk(names, 50) {
		made, err := admin.CreateTopics(b.Context(), 4, 1, nil, some...)
		require.NoError(b, err)
		require.NoError(b, made.Error())
	}
	b.Logf("%d topics made in %v", n, time.Since(began))
	began = time.Now()
	for _, name := range names {
		for p := range int32(4) {
			client.Produce(b.Context(), &kgo.Record{Topic: name, Partition: p, Value: []byte("value")}, func(_ *kgo.Record, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
	}
	require.NoError(b, client.Flush(b.Context()))
	b.Logf("written in %v", time.Since(began))
	began = time.Now()
	for i, name := range names {
		var commits kadm.Offsets
		for p := range int32(4) {
			commits.AddOffset(name, p, 0, -1)
		}
		require.NoError(b, admin.CommitAllOffsets(b.Context(), fmt.Sprintf("group-%05d", i), commits))
	}
	var wide kadm.Offsets
	for _, name := range names {
		for p := range int32(4) {
			wide.AddOffset(name, p, 0, -1)
		}
	}
	require.NoError(b, admin.CommitAllOffsets(b.Context(), "wide", wide))
	b.Logf("committed in %v", time.Since(began))
	return url, client
}

// Pages over Iggy, with nothing else to do and while records are written.
func BenchmarkPagesOverIggy(b *testing.B) {
	url, client := crowdedIggy(b, 1_000)
	for _, load := range []bool{false, true} {
		ctx, cancel := context.WithCancel(b.Context())
		var sent atomic.Int64
		ended := make(chan struct{})
		if load {
			go func() {
				defer close(ended)
				for i := 0; ctx.Err() == nil; i++ {
					_ = client.ProduceSync(ctx, &kgo.Record{Topic: fmt.Sprintf("topic-%05d", i%1000), Value: make([]byte, 1000)})
					sent.Add(1)
				}
			}()
		} else {
			close(ended)
		}
		for _, path := range []string{"console/", "console/topics", "console/topic?name=topic-00000", "console/groups", "console/groups?page=20",
			"console/groups?state=Empty&name=9", "console/group?name=group-00500", "console/group?name=wide", "console/groups?name=wide", "console/topics?page=7", "metrics", "readyz"} {
			b.Run(fmt.Sprintf("load=%v/%s", load, path), func(b *testing.B) {
				var longest time.Duration
				before := sent.Load()
				for b.Loop() {
					began := time.Now()
					got(b, url+"/"+path)
					longest = max(longest, time.Since(began))
				}
				b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest")
				if load {
					b.ReportMetric(float64(sent.Load()-before)/b.Elapsed().Seconds(), "sends/s")
				}
			})
		}
		cancel()
		<-ended
	}
}

func got(b *testing.B, url string) {
	answer, err := http.Get(url) //nolint:noctx // of a benchmark
	require.NoError(b, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, answer.StatusCode, string(body))
}
