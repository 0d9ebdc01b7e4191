package clienttest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/app"
)

// restartScenario stops the gateway under a group member and starts it again. Records and committed offsets are
// kept, groups are not: the member must join anew by itself, and continue where it had committed. It may get
// records twice, as some libraries fetch on until a heartbeat tells them that they are no member any more.
func restartScenario(r *run) {
	if _, isBroker := Broker(); isBroker {
		r.Skip("the broker is not ours to restart")
	}
	addr, storage := "127.0.0.1:0", r.storage.Lasting(r.T)
	serve := func() *lifetime {
		l := &lifetime{TB: r.T}
		r.Cleanup(l.end)
		addr = storage.Start(l, func(c *app.Config) { c.Server.Listen = addr })
		return l
	}
	first := serve()
	ofOtherScenarios := r.client
	r.client, r.Observer = r.open(r.T, addr), NewObserver(r, addr)

	name, group, sent := r.topic("restart"), Unique(r, "group"), records(start())
	require.NoError(r, r.client.Produce(r.ctx, name, "none", sent), "produce")
	m := r.join(group, name)
	got := m.poll(r, len(sent))
	requireRecords(r, sent, got, r.traits)
	ends := Offsets{}
	for _, record := range got {
		ends[record.Partition] = max(ends[record.Partition], record.Offset+1)
	}
	require.NoError(r, m.Commit(r.ctx, name, ends), "commit")

	first.end()
	serve()
	require.NoError(r, r.client.Produce(r.ctx, name, "none", sent), "produce after the restart")
	got = nil
	for len(got) < len(sent) {
		require.NoError(r, r.ctx.Err(), "%d of %d records came after the restart", len(got), len(sent))
		for _, record := range m.once(r).Records {
			require.GreaterOrEqual(r, record.Offset, ends[record.Partition], "a record that was committed")
			if !slices.ContainsFunc(got, func(g Record) bool { return g.Partition == record.Partition && g.Offset == record.Offset }) {
				got = append(got, record)
			}
		}
	}
	requireRecords(r, sent, got, r.traits)
	require.NoError(r, m.Close(), "close")
	require.NoError(r, r.client.Close(), "close")
	r.client = ofOtherScenarios
}

// lifetime lets something that ends with its test end earlier.
type lifetime struct {
	testing.TB
	ends []func()
}

// Cleanup keeps what is to be done at the end.
func (l *lifetime) Cleanup(f func()) { l.ends = append(l.ends, f) }

// end does it, last first, once.
func (l *lifetime) end() {
	for len(l.ends) > 0 {
		last := len(l.ends) - 1
		f := l.ends[last]
		l.ends = l.ends[:last]
		f()
	}
}
