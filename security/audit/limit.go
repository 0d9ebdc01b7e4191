package audit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/iggykafka/gateway/core/security"
)

// maxSources bounds the addresses whose lines are counted one by one. When there
// are more, the one that was quiet the longest is forgotten, and may cause lines
// again; the rate over all of them holds in any case.
const maxSources = 4096

// kind limits the lines of one kind.
type kind struct {
	counted   prometheus.Counter
	perSource int

	mu      sync.Mutex
	all     *rate.Limiter
	sources *simplelru.LRU[netip.Addr, *rate.Limiter]
	leftOut int // since the last line
}

func newKind(cfg Config, counted prometheus.Counter) *kind {
	sources, err := simplelru.NewLRU[netip.Addr, *rate.Limiter](maxSources, nil)
	if err != nil {
		panic(err) // for a size below 1
	}
	return &kind{counted: counted, perSource: cfg.RatePerSource, all: perMinute(cfg.Rate), sources: sources}
}

// perMinute returns a limiter of n a minute, as many of them at once; any number
// for 0.
func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), n)
}

// line reports whether a line may be written now, and if so what else it tells.
func (k *kind) line(host string) (more []zap.Field, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	source := security.Source(host)
	of, known := k.sources.Get(source)
	if !known {
		of = perMinute(k.perSource)
		k.sources.Add(source, of)
	}
	if !of.Allow() || !k.all.Allow() {
		k.leftOut++
		k.counted.Inc()
		return nil, false
	}
	if k.leftOut > 0 {
		more = append(more, zap.Int("left_out_before", k.leftOut))
		k.leftOut = 0
	}
	return more, true
}
