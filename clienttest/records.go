package clienttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recordCount records are written by every producing scenario.
const recordCount = 1000

// indexHeader carries a record's index. Every record has it, so records without key and value are known too.
const indexHeader = "index"

// start is the time of record 0; each record is a millisecond younger than the one before. It is a fixed
// distance in the past, because brokers refuse times far in the future.
func start() int64 { return time.Now().Add(-time.Hour).Truncate(time.Second).UnixMilli() }

// records returns the records of all scenarios: keyed, with headers, and among them each odd shape once.
func records(from int64) []Record {
	out := make([]Record, recordCount)
	for i := range out {
		out[i] = Record{
			Key:     fmt.Appendf(nil, "key-%d", i%50),
			Value:   fmt.Appendf(nil, "value-%d", i),
			Headers: []Header{{indexHeader, fmt.Append(nil, i)}},
			Time:    from + int64(i),
		}
	}
	out[100].Key = nil
	out[200].Value = nil
	out[300].Value = []byte{}
	out[400].Headers = append(out[400].Headers, Header{"again", []byte("b")}, Header{"again", []byte("a")}, Header{"again", []byte("b")})
	out[500].Value = large()
	return out
}

// large returns a value of 900 KB, the same every time. One half compresses well, so that every library finds
// compression worth it; the other does not, so that the batch stays large.
func large() []byte {
	out := make([]byte, 900_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(out[:len(out)/2]) // documented to return no error
	return out
}

// index returns a record's index, or -1.
func (r Record) index() int {
	for _, h := range r.Headers {
		if h.Name == indexHeader {
			if i, err := strconv.Atoi(string(h.Value)); err == nil {
				return i
			}
		}
	}
	return -1
}

// difference says how a received record differs from the sent one, or "".
func difference(sent, got Record, traits Traits) string {
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	sentHeaders, gotHeaders := sent.Headers, got.Headers
	if traits.UnorderedHeaders {
		byName := func(a, b Header) int { return strings.Compare(a.Name, b.Name) }
		sentHeaders, gotHeaders = slices.Clone(sentHeaders), slices.Clone(gotHeaders)
		slices.SortStableFunc(sentHeaders, byName)
		slices.SortStableFunc(gotHeaders, byName)
	}
	switch {
	case !same(sent.Key, got.Key):
		return fmt.Sprintf("key %s, not %s", show(got.Key), show(sent.Key))
	case !same(sent.Value, got.Value) && !(traits.EmptyReadsNull && len(sent.Value)+len(got.Value) == 0):
		return fmt.Sprintf("value %s, not %s", show(got.Value), show(sent.Value))
	case !slices.EqualFunc(sentHeaders, gotHeaders, func(a, b Header) bool { return a.Name == b.Name && same(a.Value, b.Value) }):
		return fmt.Sprintf("headers %q, not %q", gotHeaders, sentHeaders)
	case got.Time != sent.Time:
		return fmt.Sprintf("time %d, not %d", got.Time, sent.Time)
	}
	return ""
}

// show writes bytes for a failure message: null is told from empty, long ones are cut.
func show(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 40:
		return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
	}
	return strconv.Quote(string(b))
}
