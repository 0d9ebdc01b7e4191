package handlertest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// Conform checks what every handler owes, whatever its key: a Spec that the
// dispatcher can take, and a shape that agrees with the codec at every version.
func Conform(t *testing.T, h handler.Handler) {
	t.Helper()
	spec := h.Spec()
	t.Run("spec", func(t *testing.T) { conformSpec(t, h) })
	for v := spec.Min; v <= spec.Max; v++ {
		t.Run(fmt.Sprintf("v%d", v), func(t *testing.T) { conformShape(t, h, v) })
	}
}

func conformSpec(t *testing.T, h handler.Handler) {
	spec, req := h.Spec(), h.NewRequest()
	require.Equal(t, spec.Key, req.Key(), "the Spec's key is not that of NewRequest")
	require.NotSame(t, req, h.NewRequest(), "NewRequest must return a new request at each call")
	require.LessOrEqual(t, spec.Min, spec.Max, "the range is empty")
	require.GreaterOrEqual(t, spec.Min, int16(0))
	require.LessOrEqual(t, spec.Max, req.MaxVersion(), "the range is above the codec's")
	require.LessOrEqual(t, spec.AdvertisedMin, spec.Min, "versions are served but not shown")
	require.NotEmpty(t, spec.Origin)
	require.True(t, spec.BadRequest.Chosen(), "no policy for a bad request: choose one")
	require.True(t, spec.BadRequest.Fits(req), "the policy answers with another key's response")

	for v := spec.Min; v <= spec.Max; v++ {
		req := h.NewRequest()
		req.SetVersion(v)
		answer := spec.BadRequest.Answer(req)
		if answer == nil {
			continue
		}
		answer.SetVersion(v)
		back := req.ResponseKind()
		back.SetVersion(v)
		require.NoErrorf(t, back.ReadFrom(answer.AppendTo(nil)), "the bad-request answer does not decode at v%d", v)
	}
}

// conformShape compares the walk with the codec at one version.
func conformShape(t *testing.T, h handler.Handler, version int16) {
	shape := h.Spec().Shape
	check := func(body []byte) (cost int64, rest int, err error) {
		res, err := shape.Check(version, body, math.MaxInt64)
		return res.Cost, res.Rest, err
	}

	for _, fill := range []filling{empty, one, three, nulls} {
		req := filled(h, version, fill)
		body := req.AppendTo(nil)
		cost, rest, err := check(body)
		require.NoErrorf(t, err, "%v: a request that the codec wrote is refused: %x", fill, body)
		require.Zerof(t, rest, "%v: the walk stops before the end of the body %x", fill, body)

		decoded := h.NewRequest()
		decoded.SetVersion(version)
		require.NoError(t, decoded.ReadFrom(body))
		require.Equalf(t, costOf(decoded), cost, "%v: the memory that decoding takes", fill)

		// Since the walk ends exactly at the end, no shorter body may pass.
		for n := range body {
			_, _, err := check(body[:n])
			require.Errorf(t, err, "%v: passes with only %d of %d bytes", fill, n, len(body))
		}
	}

	_, rest, err := check(append(filled(h, version, one).AppendTo(nil), 0))
	require.NoError(t, err, "a byte after the last field is ignored")
	require.Equal(t, 1, rest)

	least := filled(h, version, empty).AppendTo(nil)
	require.Equal(t, len(least), shape.Smallest(version), "the smallest body")
	conformCounts(t, h, version)
}

// conformCounts goes through the lengths and counts of the request one by one.
func conformCounts(t *testing.T, h handler.Handler, version int16) {
	shape := h.Spec().Shape
	var elements []int
	for _, c := range countsOf(h, version) {
		if c.array {
			elements = append(elements, c.element)
		}
		if !c.nullable {
			_, err := shape.Check(version, c.with(c.null()), math.MaxInt64)
			require.Errorf(t, err, "%s: null passes, and is not nullable", c.path)
		}
		for _, huge := range c.huge() {
			body := c.with(huge)
			require.Lessf(t, allocated(func() {
				_, err := shape.Check(version, body, math.MaxInt64)
				require.Errorf(t, err, "%s: the largest count passes", c.path)
			}), uint64(1<<20), "%s: the largest count costs memory", c.path)
		}
	}
	require.Equal(t, elements, nilIfEmpty(shape.Arrays(version)), "the smallest elements of the arrays, in wire order")
}

func nilIfEmpty(s []int) []int {
	if len(s) == 0 {
		return nil
	}
	return s
}

func filled(h handler.Handler, version int16, f filling) kmsg.Request {
	req := h.NewRequest()
	req.SetVersion(version)
	fill(req, f)
	return req
}
