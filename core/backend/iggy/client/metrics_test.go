package client

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
)

// redials sums up those of all lanes.
func redials(t *testing.T, c *Client) (n float64) {
	t.Helper()
	for _, l := range c.lanes() {
		n += value(t, c.metrics.redials.WithLabelValues(l.name))
	}
	return n
}

// family gathers one metric, by its value of a label.
func family(t *testing.T, reg prometheus.Gatherer, name, label string) map[string]*dto.Metric {
	t.Helper()
	all, err := reg.Gather()
	require.NoError(t, err)
	found := map[string]*dto.Metric{}
	for _, f := range all {
		if f.GetName() != "kafka_gateway_iggy_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					found[l.GetValue()] = m
				}
			}
		}
	}
	return found
}

// The pool and the server's latency are seen from the first moment on, and leave
// with the client.
func TestMetricsOfThePool(t *testing.T) {
	each(t, func(t *testing.T, s iggytest.Server) {
		reg := prometheus.NewRegistry()
		cfg := configFor(s.Address())
		c, err := New(cfg, Options{Log: zaptest.NewLogger(t), Metrics: reg})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		require.Len(t, family(t, reg, "request_duration_seconds", "operation"), len(operations))
		require.NoError(t, c.Start(t.Context()))
		for lane, want := range map[string]int{"send": cfg.Connections.Send, "poll": cfg.Connections.Poll, "admin": cfg.Connections.Admin} {
			require.Eventually(t, func() bool {
				return family(t, reg, "connections", "lane")[lane].GetGauge().GetValue() == float64(want)
			}, soon, tick, lane)
			require.Zero(t, family(t, reg, "redials_total", "lane")[lane].GetCounter().GetValue())
		}
		topic := topicWith(t, c, 1)
		require.NoError(t, c.Send(t.Context(), topic, 0, messages(1)))
		for _, op := range []operation{opSend, opCreateTopic, opCreateStream} {
			h := family(t, reg, "request_duration_seconds", "operation")[string(op)].GetHistogram()
			require.EqualValues(t, 1, h.GetSampleCount(), op)
			require.Greater(t, h.GetSampleSum(), 0.0)
			require.Less(t, h.GetSampleSum(), soon.Seconds())
		}
		require.Eventually(t, func() bool {
			return family(t, reg, "connections_busy", "lane")["send"].GetGauge().GetValue() == 0
		}, soon, tick)
		c.Kill()
		require.Eventually(t, func() bool {
			return family(t, reg, "redials_total", "lane")["poll"].GetCounter().GetValue() >= float64(cfg.Connections.Poll)
		}, soon, tick)
		c.Close()
		left, err := reg.Gather()
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
