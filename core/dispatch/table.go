package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// Middleware wraps the handler of every key, for what concerns them all, such
// as an authorizer. The wrapper's Handle is called in place of the handler's;
// its Spec and NewRequest are not used. An error that it returns closes the
// connection.
type Middleware func(handler.Handler) handler.Handler

// Table holds the handlers by key. It is checked once, when it is made, and
// does not change.
type Table struct {
	entries map[int16]entry
	specs   []handler.Spec
	apis    []handler.Range
}

// entry is one key: its handler, wrapped, and what it was asked once.
type entry struct {
	handler.Handler
	spec handler.Spec
	// flexibleFrom is the first served version with a flexible body, or
	// one above the range.
	flexibleFrom int16
}

// NewTable makes a table of the handlers, each replacement taking the place of
// the handler of its key, and of the middleware around them, outermost first.
// The order of handlers and replacements does not matter.
//
// It reports every fault at once, sorted by key, with the functions named: two
// handlers or two replacements for a key, a replacement for a key that nobody
// serves, and whatever is wrong with a handler's Spec.
func NewTable(handlers, replacements []handler.Handler, middleware ...Middleware) (*Table, error) {
	var f faults
	served := f.collect("handler", handlers)
	replaced := f.collect("replacement", replacements)
	for key, h := range replaced {
		old, ok := served[key]
		if !ok {
			f.add(key, "the replacement %s replaces nothing: no handler serves the key", h.spec.Origin)
		} else if h.spec.Origin == old.spec.Origin && typeOf(h) != typeOf(old) {
			// It wraps what was there and shows the same Spec: tell it apart.
			h.spec.Origin = typeOf(h) + " around " + h.spec.Origin
		}
		served[key] = h
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	t := &Table{entries: served}
	for key, e := range served {
		e.flexibleFrom = flexibleFrom(e.NewRequest(), e.spec.Range)
		for _, wrap := range slices.Backward(middleware) {
			e.Handler = wrap(e.Handler)
		}
		served[key] = e
		t.specs = append(t.specs, e.spec)
	}
	slices.SortFunc(t.specs, func(a, b handler.Spec) int { return cmp.Compare(a.Key, b.Key) })
	for _, s := range t.specs {
		if !s.Hidden {
			t.apis = append(t.apis, s.Advertised())
		}
	}
	return t, nil
}

// APIs returns what ApiVersions answers: one row a key that is not hidden, sorted
// by key. The
// slice is shared: read only.
func (t *Table) APIs() []handler.Range { return t.apis }

// Specs returns the Spec of every key, sorted by key. The slice is shared:
// read only.
func (t *Table) Specs() []handler.Spec { return t.specs }

// typeOf names the type of an entry's handler, with its package.
func typeOf(e entry) string { return fmt.Sprintf("%T", e.Handler) }

// flexibleFrom finds where the versions of a range become flexible (KIP-482).
// A request that is flexible at one version is flexible at all later ones.
func flexibleFrom(req kmsg.Request, r handler.Range) int16 {
	for v := r.Min; v <= r.Max; v++ {
		if req.SetVersion(v); req.IsFlexible() {
			return v
		}
	}
	return r.Max + 1
}

// faults collects what is wrong with the handlers.
type faults []fault

type fault struct {
	key  int16
	text string
}

func (f *faults) add(key int16, format string, args ...any) {
	*f = append(*f, fault{key, fmt.Sprintf(format, args...)})
}

// err returns all faults, sorted, as one error; nil when there is none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortFunc(f, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.text, b.text))
	})
	lines := make([]string, 0, len(f)+1)
	lines = append(lines, "the handlers do not fit together:")
	for _, x := range f {
		if x.key == noKey {
			lines = append(lines, x.text)
			continue
		}
		lines = append(lines, fmt.Sprintf("key %d (%s): %s", x.key, kmsg.NameForKey(x.key), x.text))
	}
	return errors.New(strings.Join(lines, "\n  "))
}

// noKey sorts first what cannot be blamed on a key.
const noKey int16 = -1 << 15

// collect checks handlers of one kind and returns them by key.
func (f *faults) collect(kind string, handlers []handler.Handler) map[int16]entry {
	byKey := make(map[int16]entry, len(handlers))
	origins := make(map[int16][]string, len(handlers))
	for _, h := range handlers {
		if h == nil {
			f.add(noKey, "a %s is nil", kind)
			continue
		}
		e := entry{Handler: h, spec: h.Spec()}
		f.check(e)
		byKey[e.spec.Key] = e
		origins[e.spec.Key] = append(origins[e.spec.Key], e.spec.Origin)
	}
	for key, names := range origins {
		if len(names) > 1 {
			slices.Sort(names)
			f.add(key, "more than one %s: %s", kind, strings.Join(names, " and "))
		}
	}
	return byKey
}

// check adds what is wrong with one handler by itself.
func (f *faults) check(e entry) {
	s := e.spec
	bad := func(format string, args ...any) { f.add(s.Key, "%s: "+format, append([]any{s.Origin}, args...)...) }
	if s.Min < 0 || s.Min > s.Max {
		bad("the versions %d to %d are not a range", s.Min, s.Max)
	}
	if s.AdvertisedMin < 0 || s.AdvertisedMin > s.Min {
		bad("advertises versions from %d, serves them from %d", s.AdvertisedMin, s.Min)
	}
	if !s.BadRequest.Chosen() {
		bad("no policy for bad requests: choose handler.CloseConnection or handler.InvalidRequest")
	}
	if s.Origin == handler.NilFunction {
		bad("there is no function to answer with")
	}
	req := e.NewRequest()
	if req == nil {
		bad("NewRequest returns nil")
		return
	}
	if req.Key() != s.Key {
		bad("its requests have the key %d", req.Key())
	}
	if s.Max > req.MaxVersion() {
		bad("serves version %d, the codec knows versions to %d", s.Max, req.MaxVersion())
	}
	if s.BadRequest.Chosen() && !s.BadRequest.Fits(req) {
		bad("its policy for bad requests answers with the response of another key")
	}
}
