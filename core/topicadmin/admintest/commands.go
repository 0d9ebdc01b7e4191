package admintest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Errors are the failures that the command fail knows, by name.
var Errors = map[string]error{
	"unavailable":     backend.ErrUnavailable,
	"outcome-unknown": backend.ErrOutcomeUnknown,
	"deadline":        context.DeadlineExceeded,
	"storage":         backend.ErrStorage,
	"unknown-topic":   backend.ErrUnknownTopic,
	"topic-exists":    backend.ErrTopicExists,
	"too-many-topics": backend.ErrTooManyTopics,
	"config":          &backend.ConfigError{Name: "cleanup.policy", Reason: "this backend cannot compact"},
	"surprise":        fmt.Errorf("disk of /home/secret is gone"),
}

// Node returns node 1.
func Node() *settings.Node { return &settings.Node{ID: 1} }

// Call is a request that came to gateway.example:9092.
func Call() handler.Call {
	return handler.Call{Listener: handler.Listener{Name: "default", Protocol: "PLAINTEXT", Host: "gateway.example", Port: 9092}}
}

// Commands returns commands for scenario files:
//
//	create name=orders partitions=3 configs=(retention.ms=5,segment.ms=9)
//	topics                       lists what is stored
//	fail method=CreateTopic with=unavailable
//	fail                         ends the failing
func (s *Topics) Commands() map[string]func(*testing.T, *datadriven.TestData) string {
	return map[string]func(*testing.T, *datadriven.TestData) string{
		"create": func(t *testing.T, d *datadriven.TestData) string {
			var name string
			partitions := 1
			d.ScanArgs(t, "name", &name)
			d.MaybeScanArgs(t, "partitions", &partitions)
			overrides := map[string]string{}
			if arg, ok := d.Arg("configs"); ok {
				for _, kv := range arg.Vals {
					k, v, _ := strings.Cut(kv, "=")
					overrides[k] = v
				}
			}
			topic, err := s.Create(name, int32(partitions), overrides)
			require.NoError(t, err)
			return topic.ID.String()
		},
		"topics": func(*testing.T, *datadriven.TestData) string { return s.String() },
		"fail": func(t *testing.T, d *datadriven.TestData) string {
			s.Before = nil
			var method, with string
			if d.MaybeScanArgs(t, "method", &method) {
				d.ScanArgs(t, "with", &with)
				require.Contains(t, Errors, with)
				s.Before = func(m string) error {
					if m == method {
						return Errors[with]
					}
					return nil
				}
			}
			return "ok"
		},
	}
}

// String lists the topics, one a line.
func (s *Topics) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.topics)) {
		t := s.topics[name]
		fmt.Fprintf(&b, "%s partitions=%d", name, t.Partitions)
		for _, k := range slices.Sorted(maps.Keys(t.Overrides)) {
			fmt.Fprintf(&b, " %s=%q", k, t.Overrides[k])
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}
