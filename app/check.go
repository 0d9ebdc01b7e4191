package app

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/server"
)

// bounds are the least and the largest value of a number, in its own unit:
// bytes, or nanoseconds for a duration.
type bounds struct{ least, most int64 }

// aLongTime bounds durations, so that adding one to the time of day never
// overflows.
const aLongTime = int64(100 * 365 * 24 * time.Hour)

// boundsOf returns the bounds of a number. Most numbers are limits over what
// is stored or waited for: nothing works with a limit of zero, so it is
// refused rather than read as "no limit". The exceptions are listed.
func boundsOf(f field) bounds {
	b := bounds{1, math.MaxInt64}
	switch {
	case kindOf(f) == "duration":
		b.most = aLongTime
	case f.value.Type().Bits() == 32:
		b.most = math.MaxInt32
	}
	switch general(f.key) {
	case "node_id",
		"max_connections_per_address",    // 0: any number
		"listeners.NAME.max_connections", // 0: any number
		"shutdown_drain",                 // 0: requests in work are abandoned at once
		"budget_wait",                    // 0: not at all
		"offsets.metadata_max",           // 0: only empty metadata
		"iggy.cache_bytes",               // 0: nothing is kept
		"metrics.lag_series_max",         // 0: no lag is shown
		"storage.compaction.rate_bytes",  // 0: any
		"quotas.producer_byte_rate",      // 0: any
		"quotas.consumer_byte_rate",      // 0: any
		"sasl.iggy.cache_time",           // 0: nothing is remembered
		"sasl.max_reauth",                // 0: as long as what the client logged in with
		"sasl.failure_delay",             // 0: not at all
		"sasl.max_failure_delay",         // 0: not at all
		"sasl.oauthbearer.clock_skew",    // 0: not at all
		"tls.expiry_warning",             // 0: never
		"audit.rate",                     // 0: any number
		"audit.rate_per_source",          // 0: any number
		"groups.initial_rebalance_delay", // 0: not at all
		"groups.max_rebalance_timeout":   // 0: no cap
		b.least = 0
	case "groups.min_session_timeout", "groups.max_session_timeout": // int32 of ms on the wire
		b = bounds{int64(time.Millisecond), math.MaxInt32 * int64(time.Millisecond)}
	case "telemetry.push_interval": // as Kafka's interval.ms
		b = bounds{int64(100 * time.Millisecond), math.MaxInt32 * int64(time.Millisecond)}
	}
	return b
}

// check finds every value that cannot work, alone or with another one. The words are
// those of the modules, by the general names of keys.
func (l *loaded) check(words map[string][]string, faults *Faults) {
	faulty := map[string]bool{}
	fault := func(key, format string, args ...any) {
		origin, set := l.origin[key]
		if !set {
			origin = "default"
		}
		faulty[key] = true
		faults.add("%s: %s (%s)", key, fmt.Sprintf(format, args...), origin)
	}
	// Sections that know their own rules, first: they say more.
	sections := []interface{ Validate() error }{l.Server, l.Admin, l.Tracing, l.SASL, l.Authorization, l.Quotas, l.TLS, l.Audit}
	switch chosen.Choice(l.Storage.Backend) {
	case chosen.Embedded:
		sections = append(sections, l.Storage.Config)
	case chosen.Iggy:
		sections = append(sections, l.Iggy)
	}
	for _, section := range sections {
		if err := section.Validate(); err != nil {
			for line := range strings.Lines(err.Error()) {
				key, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
				fault(key, "%s", text)
			}
		}
	}
	for _, f := range fieldsOf(&l.Config) {
		if !f.value.CanInt() || faulty[f.key] || l.unused(f.key) {
			continue
		}
		if b, v := boundsOf(f), f.value.Int(); v < b.least || v > b.most {
			fault(f.key, "%s is out of range; set %s to %s",
				formatField(f), formatField(f.with(b.least)), formatField(f.with(b.most)))
		}
	}
	for _, f := range fieldsOf(&l.Config) {
		if faulty[f.key] || l.unused(f.key) {
			continue
		}
		for _, err := range wrongWords(f, words) {
			fault(f.key, "%v", err)
		}
		if l.numbers[f.key] && !faulty[f.key] {
			fault(f.key, "%s is not text; write it in quotes", f.value) // YAML reads 1.10 as 1.1
		}
	}
	l.checkAuthorization(fault)
	for _, at := range l.Server.All() {
		if !faulty["admin.listen"] && server.OnePort(l.Admin.Listen, at.Listen) {
			fault("admin.listen", "%q is the port of %slisten, %q, too; the admin listener needs its own", l.Admin.Listen, at.Section, at.Listen)
		}
	}
	if g := l.Groups; g.MinSessionTimeout > g.MaxSessionTimeout {
		fault("groups.min_session_timeout", "%s is above groups.max_session_timeout, %s; lower it or raise that",
			formatDuration(g.MinSessionTimeout), formatDuration(g.MaxSessionTimeout))
	}
	// A Fetch holds its records twice: as read and as encoded.
	if need := 2 * min(int64(l.Fetch.MaxBytes), int64(l.Server.MaxFrameSize)); !faulty["memory_budget"] && l.Server.MemoryBudget < need {
		fault("memory_budget", "%d is below twice fetch.max_bytes, %d, so that a full answer could never be read; raise it or lower fetch.max_bytes",
			l.Server.MemoryBudget, need)
	}
}

// unused reports whether nothing looks at a key, because it belongs to another
// backend than the chosen one.
func (l *loaded) unused(key string) bool {
	section, name, _ := strings.Cut(key, ".")
	toIggy := l.Storage.Backend == string(chosen.Iggy)
	return section == "storage" && name != "backend" && toIggy || section == "iggy" && !toIggy
}
