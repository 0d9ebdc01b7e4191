package admintest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/security"
)

// hiddenTopics are there, and may not be seen.
var hiddenTopics = []string{"b", "x.y"}

// Hidden puts random requests, as those of Anything, to two handlers: over a store
// that has topics which the caller may do nothing with, and over one without them.
// The answers must be the same, and what is hidden must stay as it is.
func Hidden[S Store](t *testing.T, open func(testing.TB) (handler.Handler, S)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		with, full := open(t)
		without, bare := open(t)
		for _, s := range []S{full, bare} {
			_, err := s.Create("a", 3, map[string]string{"retention.ms": "5"})
			require.NoError(rt, err)
		}
		for _, name := range hiddenTopics {
			topic, err := full.Create(name, 2, map[string]string{"cleanup.policy": "compact"})
			require.NoError(rt, err)
			if logs, ok := any(full).(*Logs); ok {
				producers := []backend.ProducerState{{ID: 7}}
				logs.Set(backend.Partition{Topic: topic.ID}, Log{Bounds: backend.Bounds{Start: 1, End: 5}, Size: 99, Producers: producers})
			}
		}
		before := hiddenState(rt, full)
		call := handler.Call{MaxFrame: 1 << 20, Access: &handlertest.Access{All: true, Deny: hiddenRights()}}
		spec := with.Spec()
		for range 3 {
			req := with.NewRequest()
			req.SetVersion(rapid.Int16Range(spec.Min, spec.Max).Draw(rt, "version"))
			draw(rt, reflect.ValueOf(req).Elem())
			takeTime(req)
			body := req.AppendTo(nil)
			ask := func(h handler.Handler) []byte {
				decoded := h.NewRequest()
				decoded.SetVersion(req.GetVersion())
				require.NoError(rt, decoded.ReadFrom(body))
				resp, err := h.Handle(context.Background(), call, decoded)
				require.NoError(rt, err)
				resp.SetVersion(req.GetVersion())
				return resp.AppendTo(nil)
			}
			require.Equal(rt, ask(without), ask(with), "the answer tells of what is hidden")
		}
		require.Equal(rt, before, hiddenState(rt, full))
	})
}

// takeTime gives a request a minute, if it has any time at all: it must not run out
// for one handler and not for the other.
func takeTime(req kmsg.Request) {
	timeout := reflect.ValueOf(req).Elem().FieldByName("TimeoutMillis")
	if timeout.IsValid() && timeout.Int() > 0 {
		timeout.SetInt(time.Minute.Milliseconds())
	}
}

// hiddenRights are all rights to the hidden topics, and those to the cluster that
// would stand for them.
func hiddenRights() (rights []handlertest.Right) {
	for op := kmsg.ACLOperationRead; op <= kmsg.ACLOperationIdempotentWrite; op++ {
		for _, name := range hiddenTopics {
			rights = append(rights, handlertest.Right{Operation: op, On: security.Resource{Type: kmsg.ACLResourceTypeTopic, Name: name}})
		}
	}
	return append(rights, handlertest.Right{Operation: kmsg.ACLOperationClusterAction, On: security.Cluster})
}

// hiddenState is what could have been changed of the hidden topics.
func hiddenState(rt *rapid.T, s Store) (state []any) {
	for _, name := range hiddenTopics {
		topic, err := s.Topic(context.Background(), name)
		require.NoError(rt, err)
		state = append(state, topic)
		if logs, ok := s.(*Logs); ok {
			bounds, err := logs.Bounds(context.Background(), backend.Partition{Topic: topic.ID})
			require.NoError(rt, err)
			state = append(state, bounds)
		}
	}
	return state
}
