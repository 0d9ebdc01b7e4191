package quotas

import (
	"math"
	"time"
)

// windows say over which time use is summed up.
type windows struct {
	count int
	size  time.Duration
}

// all is how long the windows are together.
func (w windows) all() time.Duration { return time.Duration(w.count) * w.size }

// rate sums up use over windows, in the way of Kafka's SampledStat and Rate: a
// window begins with the first use after the end of the one before. Times are since
// any fixed moment.
type rate struct {
	samples []sample
	current int
}

// sample is the use of one window.
type sample struct {
	start, last time.Duration
	sum         float64
}

// add adds use.
func (r *rate) add(now time.Duration, w windows, amount float64) {
	if len(r.samples) == 0 {
		r.samples = append(make([]sample, 0, 2), sample{start: now})
	}
	s := &r.samples[r.current]
	if now-s.start >= w.size {
		s = r.advance(now, w)
	}
	s.sum += amount
	s.last = now
}

// advance begins a window, in the place of the oldest one if all are taken. One more
// is kept than counts: the oldest may overlap the time that is looked at.
func (r *rate) advance(now time.Duration, w windows) *sample {
	r.current = (r.current + 1) % (w.count + 1)
	if r.current == len(r.samples) {
		r.samples = append(r.samples, sample{})
	}
	r.samples[r.current] = sample{start: now, last: now}
	return &r.samples[r.current]
}

// measure returns what was used, and the time that it was used in. That is never
// less than all windows but one: a client that has just come may use at once what
// it may use in that time.
func (r *rate) measure(now time.Duration, w windows) (sum float64, span time.Duration) {
	oldest := now
	for i := range r.samples {
		s := &r.samples[i]
		if now-s.last >= w.all() {
			*s = sample{start: now, last: now}
		}
		sum += s.sum
		oldest = min(oldest, s.start)
	}
	span = now - oldest
	if full := int(span / w.size); full < w.count-1 {
		span += time.Duration(w.count-1-full) * w.size
	}
	return sum, max(span, time.Millisecond)
}

// over returns how long it takes until the rate is the quota again, if nothing more
// is used; zero when it is not above. The quota is so much a second.
func (r *rate) over(now time.Duration, w windows, quota float64) time.Duration {
	sum, span := r.measure(now, w)
	if sum/span.Seconds() <= quota {
		return 0
	}
	return milliseconds(sum/quota - span.Seconds())
}

// idle reports whether nothing was used that still counts.
func (r *rate) idle(now time.Duration, w windows) bool {
	for i := range r.samples {
		if now-r.samples[i].last < w.all() {
			return false
		}
	}
	return true
}

// bucket holds what may be used at once, in the way of Kafka's TokenBucket: it fills
// with the quota, and use may empty it below zero.
type bucket struct {
	tokens float64
	filled time.Duration
	begun  bool
}

// fill adds what has come since it was asked last. A new one is full.
func (b *bucket) fill(now time.Duration, w windows, quota float64) {
	most := quota * w.all().Seconds()
	if !b.begun {
		b.begun, b.tokens = true, most
	}
	b.tokens = min(most, b.tokens+quota*(now-b.filled).Seconds())
	b.filled = now
}

// add takes use out. The bucket was filled just before.
func (b *bucket) add(w windows, quota, amount float64) {
	b.tokens = min(quota*w.all().Seconds(), b.tokens-amount)
}

// over returns how long it takes until the bucket is not below zero.
func (b *bucket) over(quota float64) time.Duration {
	if b.tokens >= 0 {
		return 0
	}
	return milliseconds(-b.tokens / quota)
}

// idle reports whether the bucket is like a new one: it has had the time to fill
// from below zero, too.
func (b *bucket) idle(now time.Duration, w windows, quota float64) bool {
	return !b.begun || b.tokens+quota*(now-b.filled).Seconds() >= quota*w.all().Seconds()
}

// mostThrottle bounds a throttle: the field of answers has so many milliseconds.
const mostThrottle = math.MaxInt32 * time.Millisecond

// milliseconds rounds seconds to whole milliseconds, as Kafka does, within the
// bounds of the protocol.
func milliseconds(seconds float64) time.Duration {
	if seconds >= mostThrottle.Seconds() {
		return mostThrottle
	}
	return time.Duration(math.Round(seconds*1000)) * time.Millisecond
}
