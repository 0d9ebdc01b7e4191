package iggy

import (
	"math"
	"strconv"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/topicconfig"
)

// Whatever Iggy has, a client that sees it and sets nothing changes nothing: what
// is shown translates to what there is.
func TestShownOverridesTranslateBack(t *testing.T) {
	t.Parallel()
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	number := rapid.OneOf(rapid.Just(int64(-1)), rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		kept := map[string]string{}
		for _, name := range []string{retentionMs, retentionBytes} {
			if rapid.Bool().Draw(t, "set "+name) {
				kept[name] = strconv.FormatInt(number.Draw(t, name), 10)
			}
		}
		if rapid.Bool().Draw(t, "set policy") {
			kept[cleanupPolicy] = rapid.SampledFrom([]string{"", "compact", "delete", "compact,delete"}).Draw(t, cleanupPolicy)
		}
		partitions := rapid.Int32Range(0, 1000).Draw(t, "partitions")
		own := settingsOf(catalog.Resolve(kept), partitions)
		require.Equal(t, kept, shownOverrides(catalog, kept, partitions, own), "what the gateway has set is shown as it was set")

		// Sizes and times of other tools, in steps that Kafka can say.
		has := settings{iggcon.IggyExpiryNeverExpire, unlimited}
		if rapid.Bool().Draw(t, "expires") {
			has.expiry = iggcon.Duration(rapid.Int64Range(1, longestExpiry).Draw(t, "ms")) * iggcon.Millisecond
		}
		if n := int64(max(partitions, 1)); rapid.Bool().Draw(t, "is bounded") {
			has.size = uint64(rapid.Int64Range(1, largestSize/n).Draw(t, "bytes") * n)
		}
		shown := shownOverrides(catalog, kept, partitions, has)
		require.Equal(t, has, settingsOf(catalog.Resolve(shown), partitions), "%v", shown)
		require.Equal(t, shown, shownOverrides(catalog, shown, partitions, has))
	})
}

// A topic that was made with the server's default shows 0 after a restart.
func TestServersDefaultExpiry(t *testing.T) {
	t.Parallel()
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	kept := map[string]string{retentionMs: "-1"}
	require.Equal(t, kept, shownOverrides(catalog, kept, 1, settings{0, unlimited}))
	require.Equal(t, kept, shownOverrides(catalog, nil, 1, settings{0, unlimited}))
}
