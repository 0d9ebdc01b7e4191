package admintest

import (
	"context"
	"reflect"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

// Store is a store to test handlers with: [*Topics] or [*Logs].
type Store interface {
	Create(name string, partitions int32, overrides map[string]string) (backend.Topic, error)
	Topic(ctx context.Context, name string) (backend.Topic, error)
	Commands() map[string]func(*testing.T, *datadriven.TestData) string
}

// Conform is handlertest.Conform for the handler that open returns.
func Conform[S Store](t *testing.T, open func(testing.TB) (handler.Handler, S)) {
	t.Helper()
	h, _ := open(t)
	handlertest.Conform(t, h)
}

// Readme is handlertest.Readme for the handler that open returns.
func Readme[S Store](t *testing.T, open func(testing.TB) (handler.Handler, S)) {
	t.Helper()
	h, _ := open(t)
	handlertest.Readme(t, h, "README.md")
}

// Fuzz is handlertest.Fuzz for the handler that open returns.
func Fuzz[S Store](f *testing.F, open func(testing.TB) (handler.Handler, S)) {
	f.Helper()
	h, _ := open(f)
	handlertest.Fuzz(f, h)
}

// Scenarios runs the files of testdata over a handler and the commands of its
// store.
func Scenarios[S Store](t *testing.T, open func(testing.TB) (handler.Handler, S)) {
	t.Helper()
	handlertest.Scenarios(t, "testdata", func(t *testing.T) handlertest.Env {
		h, s := open(t)
		return handlertest.Env{Handler: h, Call: Call(), Commands: s.Commands()}
	})
}

// Anything puts random requests of every version to a handler over a store that
// has some topics. Their values come from a small pool, so that names meet,
// repeat and collide. Whatever they are, the handler must answer, in the layout
// of the version.
func Anything[S Store](t *testing.T, open func(testing.TB) (handler.Handler, S)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		h, s := open(t)
		for _, name := range []string{"a", "b", "x.y"} {
			_, err := s.Create(name, 3, map[string]string{"retention.ms": "5"})
			require.NoError(rt, err)
		}
		spec := h.Spec()
		for range 3 {
			req := h.NewRequest()
			req.SetVersion(rapid.Int16Range(spec.Min, spec.Max).Draw(rt, "version"))
			draw(rt, reflect.ValueOf(req).Elem())

			// Through the encoding: a version may not have all fields.
			body := req.AppendTo(nil)
			_, err := spec.Shape.Check(req.GetVersion(), body, 1<<20)
			require.NoError(rt, err)
			decoded := h.NewRequest()
			decoded.SetVersion(req.GetVersion())
			require.NoError(rt, decoded.ReadFrom(body))

			resp, err := h.Handle(context.Background(), handler.Call{MaxFrame: 1 << 20}, decoded)
			require.NoError(rt, err)
			require.NotNil(rt, resp)
			_, err = handlertest.RoundTrip(resp, req.GetVersion())
			require.NoError(rt, err)
		}
	})
}

var (
	words = rapid.SampledFrom([]string{
		"", "a", "a", "b", "c", "x.y", "x_y", "a b", "1", "2", "5", "x", "retention.ms", "cleanup.policy", "compact",
		"delete,compact", "segment.ms", "min.compaction.lag.ms", "node.id", ".",
	})
	numbers = rapid.SampledFrom([]int64{-1 << 31, -2, -1, -1, 0, 1, 1, 2, 3, 4, 5, 32, 1<<31 - 1})
)

// draw fills a request with random values of the pool.
func draw(rt *rapid.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[kmsg.Tags]() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Version" {
				draw(rt, v.Field(i))
			}
		}
	case reflect.Pointer:
		if rapid.IntRange(0, 4).Draw(rt, "null") > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			draw(rt, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 4).Draw(rt, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(rt, v.Index(i))
		}
	case reflect.String:
		v.SetString(words.Draw(rt, "word"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(rt, "flag"))
	case reflect.Array: // a UUID: none, one that exists, or another
		v.Index(3).SetUint(uint64(rapid.IntRange(0, 4).Draw(rt, "id")))
	default:
		v.SetInt(numbers.Draw(rt, "number")) // cut to its width
	}
}
