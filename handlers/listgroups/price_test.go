package listgroups

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/handlertest"
)

// sizes lie at the steps of a varint of length+1, where a wrong formula shows.
var sizes = rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{126, 127, 16382, 16383}))

var listing = rapid.Custom(func(t *rapid.T) coordinator.Listing {
	text := func(label string) string { return strings.Repeat("x", sizes.Draw(t, label)) }
	return coordinator.Listing{Group: text("group"), ProtocolType: text("type"), State: coordinator.State(text("state"))}
})

// encoded is what the codec makes of an answer.
func encoded(version int16, groups []coordinator.Listing) int64 {
	return int64(handlertest.Size(answer(groups), version))
}

func TestPriceEqualsTheEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(listing, 0, 6).Draw(t, "groups")
		for v := int16(0); v <= 5; v++ {
			if want, got := encoded(v, groups), price(v, groups); want != got {
				t.Fatalf("v%d: encoded to %d bytes, priced at %d", v, want, got)
			}
		}
	})
}

func TestPriceEqualsTheEncoderAtTheSteps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{126, 127, 16382, 16383} {
		groups := make([]coordinator.Listing, n)
		for v := int16(0); v <= 5; v++ {
			require.Equal(t, encoded(v, groups), price(v, groups), "v%d with %d groups", v, n)
		}
	}
}
