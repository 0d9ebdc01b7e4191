package cli

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
)

// TestStreams counts words with Kafka Streams, which makes topics of its own with configs of its own: one to
// repartition by word, and a compacted one that keeps the counts. The application is then started again without
// its local files, so it must restore the counts from that topic.
func TestStreams(t *testing.T) {
	classPath := installJava(t, "kafka-streams", "pom-streams.xml", "WordCount.java")
	clienttest.Each(t, func(t *testing.T, storage clienttest.Storage, addr string) {
		policy := "compact"
		if !storage.KeepsBatches() {
			policy = "delete" // Iggy cannot compact, and refuses to
		}
		countWords(t, classPath, addr, policy)
	})
}

func countWords(t *testing.T, classPath, addr, policy string) {
	observer := clienttest.NewObserver(t, addr)
	in, out, application := clienttest.Unique(t, "in"), clienttest.Unique(t, "out"), clienttest.Unique(t, "app")
	_, err := observer.Admin.CreateTopic(t.Context(), 2, 1, nil, in)
	require.NoError(t, err)
	_, err = observer.Admin.CreateTopic(t.Context(), 2, 1, nil, out)
	require.NoError(t, err)
	observer.AwaitPartitions(t, out, 2)

	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(in), kgo.ConsumeTopics(out), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	say := func(lines ...string) {
		for _, line := range lines {
			require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord(line)).FirstErr())
		}
	}
	counts := map[string]string{}
	awaitCounts := func(want map[string]string) {
		clienttest.Await(t, "the counts", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { counts[string(r.Key)] = string(r.Value) })
			return maps.Equal(want, counts)
		})
	}

	app := startJava(t, java(classPath, "WordCount", addr, application, in, out, t.TempDir(), policy))
	say("to be or not to be", "that is the question")
	awaitCounts(map[string]string{"to": "2", "be": "2", "or": "1", "not": "1", "that": "1", "is": "1", "the": "1", "question": "1"})
	app.stop()

	startJava(t, java(classPath, "WordCount", addr, application, in, out, t.TempDir(), policy))
	say("to be is to do")
	awaitCounts(map[string]string{"to": "4", "be": "3", "or": "1", "not": "1", "that": "1", "is": "2", "the": "1", "question": "1", "do": "1"})
}
