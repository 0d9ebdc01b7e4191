package tuning

import (
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// restEvery is the time between two looks at whether the load is over.
	restEvery = 10 * time.Second
	// leastGarbage is what a collection has to bring, in bytes, to be worth it.
	leastGarbage = 16 << 20
	// soon is within how many looks the next collection may come by itself: a minute.
	soon = 6
)

// rest collects the garbage that a peak of load has left. Where little is allocated
// afterwards the next collection would come much later, and the memory stay with the
// process until then.
func rest() (stop func()) {
	before := heapNow()
	return every(restEvery, func() {
		now := heapNow()
		if now.worthwhile(before) {
			runtime.GC()
			now = heapNow()
		}
		before = now
	})
}

// heap is how it stands with the heap, in bytes.
type heap struct {
	allocated uint64 // since the process began
	objects   uint64 // garbage included
	live      uint64 // of them at the last collection
	goal      uint64 // at how many the next one comes
}

// worthwhile reports whether there is much garbage, and no collection will come soon, when as
// much is allocated each time as since the look before.
func (h heap) worthwhile(before heap) bool {
	if h.objects < h.live+leastGarbage {
		return false
	}
	return h.objects+soon*(h.allocated-before.allocated) < h.goal
}

func heapNow() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"},
	}
	metrics.Read(samples)
	var h heap
	for i, to := range []*uint64{&h.allocated, &h.objects, &h.live, &h.goal} {
		if v := samples[i].Value; v.Kind() == metrics.KindUint64 {
			*to = v.Uint64()
		}
	}
	return h
}

// every calls f each time d has passed, until the returned function is called.
func every(d time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticks := time.NewTicker(d)
		defer ticks.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticks.C:
				f()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
