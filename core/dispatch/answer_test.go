package dispatch

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/wire"
)

// fetchRoute is a route whose responses have parts.
func fetchRoute() *route { return &route{entry: entry{spec: dispatchtest.Fetch(nil).Spec()}} }

// encoded is an answer as kmsg alone writes it.
func encoded(head wire.Header, resp kmsg.Response) []byte {
	b := wire.AppendResponseHeader(nil, head.Key, resp.IsFlexible(), head.CorrelationID)
	b = resp.AppendTo(b)
	wire.Finish(b, len(b))
	return b
}

func drawFetchResponse(t *rapid.T) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(rapid.Int16Range(0, 18).Draw(t, "version"))
	resp.ThrottleMillis = rapid.Int32().Draw(t, "throttle")
	for range rapid.IntRange(0, 3).Draw(t, "topics") {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = rapid.StringN(0, 20, 40).Draw(t, "topic")
		for range rapid.IntRange(0, 4).Draw(t, "partitions") {
			p := kmsg.NewFetchResponseTopicPartition()
			p.HighWatermark = rapid.Int64().Draw(t, "high watermark")
			size := rapid.SampledFrom([]int{-1, 0, 1, 16, 126, 127, 4095, 4096, 16_382, 16_383, 16_384, 2_097_150, 2_097_151}).Draw(t, "records")
			if size >= 0 {
				p.RecordBatches = bytes.Repeat([]byte{byte(size)}, size)
			}
			for range rapid.IntRange(0, 2).Draw(t, "aborted") {
				p.AbortedTransactions = append(p.AbortedTransactions, kmsg.NewFetchResponseTopicPartitionAbortedTransaction())
			}
			if rapid.Bool().Draw(t, "tags") {
				p.CurrentLeader.LeaderID, p.DivergingEpoch.Epoch = 3, 4
				p.UnknownTags.Set(9, p.RecordBatches[:min(5, len(p.RecordBatches))])
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if rapid.Bool().Draw(t, "brokers") {
		resp.Brokers = append(resp.Brokers, kmsg.NewFetchResponseBroker())
	}
	return resp
}

// An answer in pieces is what kmsg would have written, byte for byte, of any response, and
// leaves the response as it was.
func TestPieces(t *testing.T) {
	t.Parallel()
	var from Caller
	var pool wire.Pool
	m, r := newMark(), fetchRoute()
	rapid.Check(t, func(t *rapid.T) {
		head := wire.Header{Key: 1, CorrelationID: rapid.Int32().Draw(t, "correlation id")}
		a := from.newAnswer(&pool)
		for range rapid.IntRange(1, 2).Draw(t, "times") { // a throttle has it written anew
			resp := drawFetchResponse(t)
			want := encoded(head, resp)
			a.write(r, &m, head, resp)
			require.Equal(t, len(want), a.Size())
			require.Equal(t, len(want)-4, a.payload())
			require.True(t, bytes.Equal(want, bytes.Join(a.Pieces(), nil)))
			require.True(t, bytes.Equal(want, encoded(head, resp)), "the response has changed")
			for _, piece := range a.Pieces() {
				require.NotEmpty(t, piece)
			}
		}
		a.Release()
	})
}

// Records are sent from where they lie, unless there are few.
func TestPartsAreNotCopied(t *testing.T) {
	t.Parallel()
	var from Caller
	var pool wire.Pool
	m, r := newMark(), fetchRoute()
	for version := range int16(19) {
		resp := kmsg.NewPtrFetchResponse()
		resp.SetVersion(version)
		topic := kmsg.NewFetchResponseTopic()
		for range 3 {
			p := kmsg.NewFetchResponseTopicPartition()
			p.RecordBatches = make([]byte, worthParts/3+1)
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
		a := from.newAnswer(&pool)
		a.write(r, &m, wire.Header{Key: 1}, resp)
		for i, p := range topic.Partitions {
			require.Same(t, &p.RecordBatches[0], &a.Pieces()[2*i+1][0])
		}
		require.Less(t, len(a.text.B), 300)
		a.Release()
		require.Empty(t, a.sent[:cap(a.sent)][0], "nothing keeps the records alive")

		few := [][]int{{worthParts/3 - 1, worthParts/3 - 1, worthParts/3 - 1}, {worthParts / 2, worthPart - 1, worthParts/2 - 1}}
		for _, sizes := range few {
			for i, size := range sizes {
				topic.Partitions[i].RecordBatches = make([]byte, size)
			}
			a = from.newAnswer(&pool)
			a.write(r, &m, wire.Header{Key: 1}, resp)
			require.Len(t, a.Pieces(), 1)
			a.Release()
		}
		topic.Partitions[1].RecordBatches = make([]byte, worthParts/2)
		topic.Partitions[2].RecordBatches = make([]byte, worthPart-1)
		a = from.newAnswer(&pool)
		a.write(r, &m, wire.Header{Key: 1}, resp)
		require.Equal(t, 5, len(a.Pieces()), "two of three, and what is around them")
		a.Release()
	}
}

// Many parts leave nothing behind with the caller.
func TestManyParts(t *testing.T) {
	t.Parallel()
	var from Caller
	var pool wire.Pool
	m, r := newMark(), fetchRoute()
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(12)
	topic := kmsg.NewFetchResponseTopic()
	for range 1000 {
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = make([]byte, worthPart)
		topic.Partitions = append(topic.Partitions, p)
	}
	resp.Topics = append(resp.Topics, topic)
	a := from.newAnswer(&pool)
	a.write(r, &m, wire.Header{Key: 1}, resp)
	require.Len(t, a.Pieces(), 2001)
	require.True(t, bytes.Equal(encoded(wire.Header{Key: 1}, resp), bytes.Join(a.Pieces(), nil)))
	a.Release()
	require.Nil(t, from.answer.sent)
	require.Nil(t, from.answer.parts)
}

// Parts that the version does not have are a fault of the handler, and told.
func TestPartsThatAreNotEncoded(t *testing.T) {
	t.Parallel()
	var from Caller
	var pool wire.Pool
	m := newMark()
	absent := make([]byte, worthParts)
	r := &route{entry: entry{spec: handler.Spec{Parts: func(_ kmsg.Response, each func(*[]byte)) { each(&absent) }}}}
	for _, version := range []int16{4, 12} {
		resp := kmsg.NewPtrFetchResponse()
		resp.SetVersion(version)
		require.PanicsWithValue(t, "Spec.Parts names a field that this version does not have, or not in order", func() {
			from.newAnswer(&pool).write(r, &m, wire.Header{Key: 1}, resp)
		})
	}
}
