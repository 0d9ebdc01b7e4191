package dispatch

import (
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// codes finds the error codes in responses of one type. The codec gives every
// error code of the protocol a field whose name ends in "ErrorCode", so a look at
// the type says where they are, and no list of keys is needed. The look is taken
// once; answers are only walked along the fields that lead to codes.
type codes struct {
	of    reflect.Type
	steps []step
}

// step leads from a struct to codes.
type step struct {
	field int
	kind  reflect.Kind // Int16: a code. Struct, Slice, Pointer: more steps
	next  []step
}

// codesOf looks at the type of a response.
func codesOf(resp kmsg.Response) codes {
	t := reflect.TypeOf(resp)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return codes{}
	}
	return codes{of: t, steps: stepsOf(t.Elem(), maxDepth)}
}

// maxDepth is more levels than any layout of the protocol has.
const maxDepth = 8

func stepsOf(t reflect.Type, depth int) []step {
	var steps []step
	for i := range t.NumField() {
		f := t.Field(i)
		kind, inner := f.Type.Kind(), f.Type
		if kind == reflect.Slice || kind == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case !f.IsExported():
		case kind == reflect.Int16 && strings.HasSuffix(f.Name, "ErrorCode"):
			steps = append(steps, step{field: i, kind: kind})
		case inner.Kind() == reflect.Struct && depth > 0:
			if next := stepsOf(inner, depth-1); next != nil {
				steps = append(steps, step{field: i, kind: kind, next: next})
			}
		}
	}
	return steps
}

// tally counts codes of a route's answers. A run of one code, as answers about
// many partitions have it, is counted at its end.
type tally struct {
	route *route
	code  int16
	run   int
	first int16 // the first code but 0
}

func (t *tally) add(code int16) {
	if code == 0 {
		return
	}
	if t.first == 0 {
		t.first = code
	}
	if code != t.code {
		t.flush()
		t.code = code
	}
	t.run++
}

func (t *tally) flush() {
	if t.run > 0 {
		t.route.failed(t.code, t.run)
		t.run = 0
	}
}

// find hands every code of a response to the tally. A response of another type
// has none.
func (c codes) find(resp kmsg.Response, t *tally) {
	if len(c.steps) == 0 {
		return
	}
	if v := reflect.ValueOf(resp); v.Type() == c.of && !v.IsNil() {
		walk(v.Elem(), c.steps, t)
	}
	t.flush()
}

func walk(v reflect.Value, steps []step, t *tally) {
	for i := range steps {
		s := &steps[i]
		f := v.Field(s.field)
		switch s.kind {
		case reflect.Int16:
			t.add(int16(f.Int())) // #nosec G115 -- an int16 read by reflection
		case reflect.Struct:
			walk(f, s.next, t)
		case reflect.Pointer:
			if !f.IsNil() {
				walk(f.Elem(), s.next, t)
			}
		case reflect.Slice:
			for j := range f.Len() {
				walk(f.Index(j), s.next, t)
			}
		}
	}
}

// codeName is Kafka's name of an error code: "UNKNOWN_TOPIC_OR_PARTITION".
func codeName(code int16) string { return kerr.TypedErrorForCode(code).Message }
