package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch"
)

type counted []dispatch.Count

func (c *counted) Counts() []dispatch.Count { return *c }

func TestRates(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	counts := counted{{Key: 1, Name: "Fetch", Requests: 100, Processing: time.Second}}
	m := NewMix(&counts, func() time.Time { return at })
	require.Zero(t, m.recent().Now, "one look makes no rate")

	// Two minutes of 10 a second, each of 2 ms, and 6 errors.
	for range 24 {
		at = at.Add(SampleEvery)
		counts[0].Requests += 50
		counts[0].Processing += 100 * time.Millisecond
		m.Sample()
	}
	counts[0].Errors = 6
	counts = append(counts, dispatch.Count{Key: 0, Name: "Produce", Requests: 15})
	at = at.Add(SampleEvery)
	got := m.recent() // of now, though nothing was sampled
	require.Len(t, got.Rates, 2)
	fetch, produce := got.Rates[0], got.Rates[1]
	require.Equal(t, "Fetch", fetch.Name)
	require.InDelta(t, 9.6, fetch.Five, .001)
	require.Zero(t, fetch.Now)
	require.Equal(t, 2*time.Millisecond, fetch.Mean)
	require.EqualValues(t, 6, fetch.Errors)
	require.EqualValues(t, 1300, fetch.Total)
	require.Equal(t, 3., produce.Now)
	require.Equal(t, 3., got.Now)
	require.Len(t, got.Line, 25)
	require.InDelta(t, 1, fetch.Share+produce.Share, 1e-9)
}

func TestTheMixForgets(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	m := NewMix(&counted{}, func() time.Time { return at })
	for range 200 {
		at = at.Add(SampleEvery)
		m.Sample()
	}
	require.Len(t, m.samples, mixSamples)
	require.Equal(t, at.Add(-5*time.Minute), m.recent().Since)
}

func TestText(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"orders": "orders", "a b": "a b", "ü😀": "ü😀", "\u202eevil": `\u202eevil`, "\x00": `\x00`, "\n": `\n`, "\xff": `\xff`,
		"zero\u200bwidth": `zero\u200bwidth`,
	} {
		require.Equal(t, want, visible(given))
	}
	require.Equal(t, "0–3, 7", ranges([]int32{7, 3, 2, 1, 0}))
	require.Equal(t, "2147483647", ranges([]int32{1<<31 - 1}))
	require.Empty(t, link("group", string(make([]byte, 4000))))
	require.Equal(t, "/console/group?name=a%2F..%2Fb", link("group", "a/../b"))
	require.Equal(t, "90 minutes", days(90*time.Minute))
	require.Equal(t, "7 days", days(7*24*time.Hour))
}
