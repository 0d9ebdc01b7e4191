package handlertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/handler"
)

// fuzzMemory is the request_memory that Fuzz allows.
const fuzzMemory = 64 << 20

// Fuzz feeds random bodies to a handler's shape and to the codec. What the
// shape lets pass must decode or fail without a panic, and must not take more
// memory than the walk said.
func Fuzz(f *testing.F, h handler.Handler) {
	spec := h.Spec()
	for v := spec.Min; v <= spec.Max; v++ {
		for _, fill := range []filling{empty, one, three, nulls} {
			f.Add(v, filled(h, v, fill).AppendTo(nil))
		}
	}
	f.Add(spec.Max, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if !spec.Contains(version) {
			return
		}
		res, err := spec.Shape.Check(version, body, fuzzMemory)
		if err != nil {
			return
		}
		req := h.NewRequest()
		req.SetVersion(version)
		if req.ReadFrom(body) != nil {
			return // met by the handler's policy
		}
		require.LessOrEqual(t, costOf(req), res.Cost+knownTagSlack(body), "decoding took more memory than the walk said")
	})
}

// knownTagSlack is what fields in tag sections may add to the Go value: their
// bytes, which the frame has paid for, and a pointer and header each.
func knownTagSlack(body []byte) int64 { return 64 * int64(len(body)) }
