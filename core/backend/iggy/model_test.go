package iggy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// TestModel has idempotent producers, which send again what has no good answer,
// and others, which do not, write to one partition through lost requests, absent
// servers, servers that are killed within a write, restarts of the gateway, also in
// the middle of its work, callers that go, and native clients. In the end each record
// of the former is there once and in order; of the latter what was acknowledged is
// there, and what surely failed is not. Consumers read the same.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newProducerModel(t, rt)
		defer func() { require.NoError(t, m.Store.Close()) }()
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			m.round(true)
			if rapid.IntRange(0, 3).Draw(rt, "restart") == 0 {
				m.again()
			}
		}
		m.heal()
		for m.unfinished() {
			m.round(false)
		}
		m.check()
	})
}

type producerModel struct {
	*writerFakes
	rt        *rapid.T
	producers []*modelProducer
	plain     map[string]error // by value: the answer
	at        map[string]int64 // by value: the offset that was acknowledged
	gate      chan struct{}
}

type modelProducer struct {
	id      int64
	next    int32        // sequence of the next new batch
	pending []modelBatch // sent, without a good answer
	sent    []*appending // of pending, in this round
}

type modelBatch struct {
	first  int32
	values []string
}

func newProducerModel(t *testing.T, rt *rapid.T) *producerModel {
	m := &producerModel{writerFakes: newWriterFakes(t, 1), rt: rt, plain: map[string]error{}, at: map[string]int64{}}
	for id := range int64(3) {
		p := &modelProducer{id: id}
		m.producers = append(m.producers, p)
		// A producer that nobody knows may begin with any sequence.
		p.pending = []modelBatch{p.batch(1)}
		m.send(p)
		m.hear(p)
	}
	m.gate = make(chan struct{}, 1000)
	m.writes.gate = m.gate
	return m
}

func (p *modelProducer) batch(n int) modelBatch {
	b := modelBatch{first: p.next}
	for range n {
		b.values = append(b.values, fmt.Sprintf("%d/%d", p.id, p.next))
		p.next++
	}
	return b
}

// send sends everything that is pending again, in order.
func (m *producerModel) send(p *modelProducer) {
	for _, b := range p.pending {
		p.sent = append(p.sent, m.begin(0, by(p.id, b.first, b.values...)))
	}
}

// hear takes in the answers.
func (m *producerModel) hear(p *modelProducer) {
	if len(p.sent) == 0 {
		return
	}
	var left []modelBatch
	for i, a := range p.sent {
		b, got := p.pending[i], a.wait(m)
		switch {
		case got.Err == nil:
			m.at[b.values[0]] = got.BaseOffset
		case errors.Is(got.Err, backend.ErrOutOfOrderSequence):
			require.NotEmpty(m.rt, left, "%s follows what is stored", b.values[0])
			left = append(left, b)
		default:
			require.True(m.rt, isRetriable(got.Err), "%v", got.Err)
			left = append(left, b)
		}
	}
	p.pending, p.sent = left, nil
}

func isRetriable(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrOutcomeUnknown) || errors.Is(err, context.Canceled)
}

// round has everybody send, with faults on the way.
func (m *producerModel) round(faults bool) {
	rt := m.rt
	var plain []string
	var plainSent []*appending
	sends := rapid.SliceOfN(rapid.IntRange(0, len(m.producers)), 1, 6).Draw(rt, "senders")
	if faults {
		m.writes.fails(rapid.SliceOfN(rapid.SampledFrom([]fault{
			fine, fine, lostUnwritten, lostWritten, lostLate, unavailable, killed, killedEarly, killedLate, otherOne,
		}), 0, 6).Draw(rt, "faults")...)
		m.setNatives(rapid.IntRange(0, 2).Draw(rt, "before"), rapid.IntRange(0, 2).Draw(rt, "after"))
	}
	for _, who := range sends {
		if who == len(m.producers) {
			v := fmt.Sprint("plain/", len(m.plain)+len(plain))
			plain, plainSent = append(plain, v), append(plainSent, m.begin(0, recordtest.Values(v)))
			continue
		}
		p := m.producers[who]
		if len(p.sent) > 0 {
			continue // sent all it has
		}
		if len(p.pending) < 4 {
			p.pending = append(p.pending, p.batch(rapid.IntRange(1, 3).Draw(rt, "records")))
		}
		m.send(p)
	}
	how := 0
	if faults {
		how = rapid.IntRange(0, 5).Draw(rt, "how")
	}
	switch how {
	case 1: // the server does not tell for a while where logs end
		m.records.fail(backend.ErrUnavailable)
	case 2: // nor anything else
		m.writes.setAway(true)
	case 3: // the gateway ends
		m.let(rapid.IntRange(0, 4).Draw(rt, "sends before the end"))
		require.NoError(m, m.Store.Close())
		m.again()
	}
	m.let(1)
	m.leave(faults, plainSent)
	m.heal()
	for i, a := range plainSent {
		got := a.wait(m)
		m.plain[plain[i]] = got.Err
		if got.Err == nil {
			m.at[plain[i]] = got.BaseOffset
		}
	}
	for _, p := range m.producers {
		m.hear(p)
	}
	m.idle(0)
}

// leave has some callers go.
func (m *producerModel) leave(faults bool, plain []*appending) {
	all := plain
	for _, p := range m.producers {
		all = append(all[:len(all):len(all)], p.sent...)
	}
	for _, a := range all {
		if faults && rapid.IntRange(0, 4).Draw(m.rt, "leaves") == 0 {
			a.cancel()
			m.let(1)
		}
	}
}

func (m *producerModel) let(n int) {
	for range n {
		m.gate <- struct{}{}
	}
}

func (m *producerModel) setNatives(before, after int) {
	m.writes.writing.Lock()
	defer m.writes.writing.Unlock()
	m.writes.before, m.writes.after = make([]string, 0, before), nil
	for range before {
		m.writes.before = append(m.writes.before, "native")
	}
	for range after {
		m.writes.after = append(m.writes.after, "native")
	}
}

// unfinished reports whether a producer has something left to send.
func (m *producerModel) unfinished() bool {
	for _, p := range m.producers {
		if len(p.pending) > 0 {
			return true
		}
	}
	return false
}

// heal ends what is wrong with the server.
func (m *producerModel) heal() {
	m.writes.setAway(false)
	for len(m.gate) < 100 {
		m.gate <- struct{}{}
	}
	require.Eventually(m, func() bool {
		select {
		case m.gate <- struct{}{}:
		default:
		}
		return m.part(0).writer.refused() == nil
	}, 10*time.Second, time.Millisecond)
}

// checkReads compares what consumers read, of this gateway and of the next, with what
// is in the log and can be read. Messages of natives are salvaged where they can be.
func (m *producerModel) checkReads(log []string) {
	want := map[int64]string{}
	for offset, v := range log {
		if v != "torn" && v != "void" && v != "native" {
			want[int64(offset)] = v
		}
	}
	for range 2 {
		got := m.consumed(0)
		for offset, v := range got {
			if v == "native" {
				delete(got, offset)
			}
		}
		require.Equal(m.rt, want, got, "%q", log)
		m.again()
	}
}

func (m *producerModel) check() {
	log := m.values(0)
	m.checkReads(log)
	seen := map[string]int{}
	next := make([]int, len(m.producers))
	for _, v := range log {
		if seen[v]++; v == "native" {
			continue
		}
		var id, n int
		if _, err := fmt.Sscanf(v, "%d/%d", &id, &n); err == nil {
			require.Equal(m.rt, next[id], n, "in order and once: %q in %q", v, log)
			next[id]++
		}
	}
	for _, p := range m.producers {
		require.Empty(m.rt, p.pending)
		require.EqualValues(m.rt, p.next, next[p.id], "all is there: %q", log)
	}
	for v, err := range m.plain {
		switch {
		case err == nil:
			require.Equal(m.rt, 1, seen[v], "acknowledged: %s", v)
		case errors.Is(err, backend.ErrOutcomeUnknown):
			require.LessOrEqual(m.rt, seen[v], 1, "of unknown outcome: %s", v)
		default:
			require.Zero(m.rt, seen[v], "not written: %s: %v", v, err)
		}
	}
	for v, offset := range m.at {
		require.Equal(m.rt, v, log[offset])
	}
}
