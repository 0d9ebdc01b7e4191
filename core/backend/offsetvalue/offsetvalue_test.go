package offsetvalue_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/offsetvalue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a release has stored, the next one reads.
func TestForm(t *testing.T) {
	t.Parallel()
	c := backend.CommittedOffset{Offset: 0x0102030405060708, LeaderEpoch: -1, CommitTime: time.UnixMilli(0x010203), Metadata: "m"}
	require.Equal(t, "01"+"0102030405060708"+"ffffffff"+"0000000000010203"+"6d", hex.EncodeToString(offsetvalue.Encode(c)))
}

func TestReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := backend.CommittedOffset{
			Offset: rapid.Int64().Draw(t, "offset"), LeaderEpoch: rapid.Int32().Draw(t, "epoch"),
			CommitTime: time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "time")), Metadata: rapid.String().Draw(t, "metadata"),
		}
		got, err := offsetvalue.Decode(offsetvalue.Encode(c))
		require.NoError(t, err)
		require.Equal(t, c, got)
	})
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	good := offsetvalue.Encode(backend.CommittedOffset{})
	for name, value := range map[string][]byte{
		"nothing": nil, "cut": good[:len(good)-1], "a later version": append([]byte{2}, good[1:]...),
	} {
		_, err := offsetvalue.Decode(value)
		require.ErrorIs(t, err, offsetvalue.ErrUnreadable, name)
	}
}
