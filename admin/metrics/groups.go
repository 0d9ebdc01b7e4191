package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggykafka/gateway/coordinator"
)

const ns = "kafka_gateway"

// groups shows what the coordinator counts.
type groups struct {
	counter coordinator.Counter
	groups, members, bytes,
	rebalances *prometheus.Desc
}

func newGroups(c coordinator.Counter) *groups {
	return &groups{
		counter:    c,
		groups:     describe("groups", "Consumer groups, by state.", "state"),
		members:    describe("group_members", "Members of all consumer groups."),
		bytes:      describe("group_memory_bytes", "Memory that consumer groups take; groups.memory_budget is the limit."),
		rebalances: describe("group_rebalances_total", "Rebalances that were completed, of all groups."),
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(ns+"_"+name, help, labels, nil)
}

// states are shown also when no group is in them.
var states = []coordinator.State{
	coordinator.Empty, coordinator.PreparingRebalance, coordinator.CompletingRebalance, coordinator.Stable,
}

// Describe implements prometheus.Collector.
func (g *groups) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.groups, g.members, g.bytes, g.rebalances} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *groups) Collect(out chan<- prometheus.Metric) {
	counts := g.counter.Count()
	for _, state := range states {
		out <- gauge(g.groups, float64(counts.Groups[state]), string(state))
	}
	out <- gauge(g.members, float64(counts.Members))
	out <- gauge(g.bytes, float64(counts.Bytes))
	out <- prometheus.MustNewConstMetric(g.rebalances, prometheus.CounterValue, float64(counts.Rebalances))
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
