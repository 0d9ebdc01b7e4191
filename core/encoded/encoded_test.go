package encoded

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLengths(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 126, 127, 128, 1<<14 - 2, 1<<14 - 1, 1<<21 - 2, 1<<21 - 1, 1<<28 - 2, 1<<28 - 1, 1<<31 - 1} {
		varint := int64(len(binary.AppendUvarint(nil, uint64(n)+1)))
		require.Equal(t, varint, Flexible.Array(n), n)
		require.Equal(t, varint+int64(n), Flexible.String(n), n)
		require.EqualValues(t, 4, Legacy.Array(n))
		require.EqualValues(t, 2+n, Legacy.String(n))
	}
	s := "abc"
	require.EqualValues(t, 4, Flexible.NullableString(&s))
	require.EqualValues(t, 1, Flexible.NullableString(nil))
	require.EqualValues(t, 5, Legacy.NullableString(&s))
	require.EqualValues(t, 2, Legacy.NullableString(nil))
	require.EqualValues(t, 5, Flexible.Header())
	require.EqualValues(t, 4, Legacy.Header())
	require.Equal(t, Flexible, At(9, 9))
	require.Equal(t, Legacy, At(8, 9))
}
