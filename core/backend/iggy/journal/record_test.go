package journal

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func samples() map[string]record {
	lease := Lease{Host: "box", PID: 300, Since: time.UnixMilli(1_700_000_000_000).UTC(), addresses: []string{"10.0.0.1:40000", "10.0.0.1:40001"}}
	owner := uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff")
	return map[string]record{
		"begin":    {kind: kindBegin, owner: owner, seq: 1, number: 2, previous: 1, lease: lease},
		"claim":    {kind: kindClaim, owner: owner, seq: 9, acked: 8, after: 7, lease: lease},
		"renew":    {kind: kindRenew, owner: owner, seq: 2, acked: 1, lease: Lease{Since: time.UnixMilli(0).UTC()}},
		"release":  {kind: kindRelease, owner: owner, seq: 2, acked: 1},
		"changes":  {kind: kindChanges, owner: owner, seq: 2, acked: 1, changes: appendChanges(nil, []Change{{"k", []byte("v")}, {"", nil}, {"e", []byte{}}})},
		"complete": {kind: kindComplete, owner: owner, seq: 2, acked: 1, pairs: 300, sum: 0x01020304},
		"seal":     {kind: kindSeal, owner: owner, seq: 2, acked: 1, number: 3},
		"mark":     {kind: kindMark, owner: owner, seq: 2, acked: 1},
	}
}

// The bytes are what stored logs are made of: they must not change.
var golden = map[string]string{
	"begin":    "4b474a01d37d3a7a0100112233445566778899aabbccddeeff01000000000000000000000000000000020103626f78ac0280a0abfef962020e31302e302e302e313a34303030300e31302e302e302e313a3430303031",
	"claim":    "4b474a01af319fbe0200112233445566778899aabbccddeeff09000000000000000800000000000000070000000000000003626f78ac0280a0abfef962020e31302e302e302e313a34303030300e31302e302e302e313a3430303031",
	"renew":    "4b474a010b283f200300112233445566778899aabbccddeeff0200000000000000010000000000000000000000",
	"release":  "4b474a01ea439ec60400112233445566778899aabbccddeeff02000000000000000100000000000000",
	"changes":  "4b474a019089bad40500112233445566778899aabbccddeeff0200000000000000010000000000000003016b02760000016501",
	"complete": "4b474a015dfdff2e0600112233445566778899aabbccddeeff02000000000000000100000000000000ac0204030201",
	"seal":     "4b474a01b722244a0700112233445566778899aabbccddeeff0200000000000000010000000000000003",
	"mark":     "4b474a013d2d87710800112233445566778899aabbccddeeff02000000000000000100000000000000",
}

func TestRecordsAreEncodedAsEver(t *testing.T) {
	t.Parallel()
	for name, r := range samples() {
		payload := r.encode()
		require.Equal(t, golden[name], hex.EncodeToString(payload), name)
		back, err := decode(payload)
		require.NoError(t, err)
		require.Equal(t, r, back, name)
		for i := range payload {
			_, err := decode(payload[:i])
			require.Error(t, err)
			broken := append([]byte(nil), payload...)
			broken[i] ^= 0x40
			_, err = decode(broken)
			require.Error(t, err, "%s: byte %d", name, i)
		}
	}
}

// An empty value is none of a deleted key.
func TestChangesKeepEmptyValues(t *testing.T) {
	t.Parallel()
	l := newLive()
	l.apply(appendChanges(nil, []Change{{"a", []byte{}}, {"b", []byte("x")}, {"b", nil}, {"c", nil}}))
	v, found := l.get("a")
	require.True(t, found)
	require.NotNil(t, v)
	_, found = l.get("b")
	require.False(t, found)
	pairs, bytes := l.size()
	require.EqualValues(t, 1, pairs)
	require.EqualValues(t, 1, bytes)
}

// What a record says is as large as what it takes.
func TestLeaseIsBounded(t *testing.T) {
	t.Parallel()
	o := Options{Host: strings.Repeat("h", 1000)}.withDefaults()
	require.Len(t, o.Host, maxHost)
	many := record{kind: kindRenew, lease: Lease{Since: time.UnixMilli(0).UTC(), addresses: make([]string, maxAddresses+1)}}
	_, err := decode(many.encode())
	require.ErrorIs(t, err, errDamaged)
}

// FuzzDecode: any bytes give a record or an error, cost little, and leave a state
// that goes on.
func FuzzDecode(f *testing.F) {
	for _, r := range samples() {
		f.Add(r.encode(), false)
		f.Add(r.encode(), true)
	}
	f.Fuzz(func(t *testing.T, payload []byte, mend bool) {
		if mend && len(payload) >= headerSize {
			payload = append([]byte(nil), payload...)
			copy(payload, magic)
			payload[3] = recordVersion
			sum := checksum(payload)
			payload[4], payload[5], payload[6], payload[7] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		r, err := decode(payload)
		if err != nil {
			return
		}
		again, err := decode(r.encode())
		if err != nil {
			t.Fatal(err)
		}
		require.Equal(t, r, again)
		s := newState()
		begin := record{kind: kindBegin, owner: r.owner, number: 1, seq: 1}
		for offset, rec := range []*record{&begin, &r, &r} {
			if _, err := s.apply(uint64(offset), rec); err != nil {
				return
			}
		}
		require.LessOrEqual(t, len(s.missing), maxMissing)
	})
}
