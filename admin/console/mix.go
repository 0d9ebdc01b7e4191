package console

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/iggykafka/gateway/core/dispatch"
)

const (
	// SampleEvery is the time between two looks at the counters.
	SampleEvery = 5 * time.Second
	// mixSamples are remembered: five minutes and the look before them.
	mixSamples = int(5*time.Minute/SampleEvery) + 1
)

// Counter counts the requests of each key; [dispatch.Dispatcher] does.
type Counter interface{ Counts() []dispatch.Count }

// Mix remembers what was counted in the last minutes. What it keeps is bounded by
// the number of keys.
type Mix struct {
	counter Counter
	now     func() time.Time

	mu      sync.Mutex
	samples []sample // oldest first
}

// sample is one look at the counters.
type sample struct {
	at     time.Time
	counts map[int16]dispatch.Count
}

// NewMix returns a Mix that has looked once. A nil clock is the system's.
func NewMix(counter Counter, now func() time.Time) *Mix {
	if now == nil {
		now = time.Now
	}
	m := &Mix{counter: counter, now: now}
	m.Sample()
	return m
}

// Run looks every SampleEvery until the end of ctx.
func (m *Mix) Run(ctx context.Context) {
	ticks := time.NewTicker(SampleEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			m.Sample()
		case <-ctx.Done():
			return
		}
	}
}

// Sample looks at the counters now.
func (m *Mix) Sample() {
	s := m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.samples = append(m.samples, s); len(m.samples) > mixSamples {
		m.samples = slices.Delete(m.samples, 0, 1)
	}
}

func (m *Mix) look() sample {
	s := sample{at: m.now(), counts: map[int16]dispatch.Count{}}
	for _, c := range m.counter.Counts() {
		s.counts[c.Key] = c
	}
	return s
}

// rate is what happened of one key.
type rate struct {
	Key   int16
	Name  string
	Now   float64 // requests a second since the last look but one
	One   float64 // over the last minute
	Five  float64 // over all that is remembered
	Share float64 // of Five, 0 to 1
	// Mean is the processing time of a request of the last minute; negative when
	// there was none.
	Mean   time.Duration
	Errors uint64 // remembered
	Total  uint64 // since the start
	// Line has the rate of each interval, oldest first.
	Line []float64
}

// mix is the requests of the last minutes.
type mix struct {
	Since time.Time // what is remembered begins here
	At    time.Time
	Rates []rate // by Five, the highest first
	Now   float64
	Five  float64
	Line  []float64 // of all keys together
}

// recent returns the rates until now.
func (m *Mix) recent() mix {
	m.mu.Lock()
	samples := slices.Clone(m.samples)
	m.mu.Unlock()
	// What is right now counts, too, but an interval too short for a rate is made
	// part of the one before it.
	s := m.look()
	if n := len(samples) - 1; n > 0 && s.at.Sub(samples[n].at) < time.Second {
		samples = samples[:n]
	}
	samples = append(samples, s)
	first, last := samples[0], samples[len(samples)-1]
	out := mix{Since: first.at, At: last.at, Line: make([]float64, len(samples)-1)}
	minute := slices.IndexFunc(samples, func(s sample) bool { return last.at.Sub(s.at) <= time.Minute })
	before := max(len(samples)-2, 0)
	for key, c := range last.counts {
		r := rate{Key: key, Name: c.Name, Total: c.Requests, Mean: -1}
		r.Now, r.One, r.Five = perSecond(samples[before], last, key), perSecond(samples[minute], last, key), perSecond(first, last, key)
		r.Errors = c.Errors - first.counts[key].Errors
		if n := c.Requests - samples[minute].counts[key].Requests; n > 0 {
			r.Mean = (c.Processing - samples[minute].counts[key].Processing) / time.Duration(n)
		}
		r.Line = make([]float64, len(samples)-1)
		for i := range r.Line {
			r.Line[i] = perSecond(samples[i], samples[i+1], key)
			out.Line[i] += r.Line[i]
		}
		out.Now += r.Now
		out.Five += r.Five
		out.Rates = append(out.Rates, r)
	}
	for i := range out.Rates {
		if out.Five > 0 {
			out.Rates[i].Share = out.Rates[i].Five / out.Five
		}
	}
	slices.SortFunc(out.Rates, func(a, b rate) int {
		return cmp.Or(cmp.Compare(b.Five, a.Five), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// perSecond returns the requests a second of a key between two looks.
func perSecond(from, to sample, key int16) float64 {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(to.counts[key].Requests-from.counts[key].Requests) / seconds
}
