package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// payloadOf encodes a request with the codec's own formatter.
func payloadOf(t testing.TB, req kmsg.Request, version int16, opts ...kmsg.RequestFormatterOpt) []byte {
	t.Helper()
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(opts...).AppendRequest(nil, req, 0x01020304)[PrefixSize:]
}

// The headers of real requests, legacy and flexible, with and without client id.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		version  int16
		flexible bool
		opts     []kmsg.RequestFormatterOpt
		clientID string
	}{
		{"v1", 3, false, []kmsg.RequestFormatterOpt{kmsg.FormatterClientID("client")}, "client"},
		{"v1 null client id", 3, false, nil, ""},
		{"v1 empty client id", 3, false, []kmsg.RequestFormatterOpt{kmsg.FormatterClientID("")}, ""},
		{"v2", 4, true, []kmsg.RequestFormatterOpt{kmsg.FormatterClientID("client")}, "client"},
		{"v2 null client id", 4, true, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group = "group"
			payload := payloadOf(t, req, c.version, c.opts...)
			head, err := ParseHeader(payload)
			require.NoError(t, err)
			require.Equal(t, Header{Key: 12, Version: c.version, CorrelationID: 0x01020304}, head)
			id, body, err := Split(payload, c.flexible)
			require.NoError(t, err)
			require.Equal(t, c.clientID, string(id))
			require.Equal(t, req.AppendTo(nil), body)
		})
	}
}

// header returns the fixed part followed by the bytes.
func header(rest ...byte) []byte { return append([]byte{0, 3, 0, 9, 0, 0, 0, 1}, rest...) }

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		payload  []byte
		flexible bool
		clientID string
		body     []byte
	}{
		{"any negative length is null", header(0x80, 0x00, 7), false, "", []byte{7}},
		{"no body", header(0xff, 0xff), false, "", []byte{}},
		{"an unknown tag is skipped", header(0, 1, 'c', 1, 0x05, 2, 8, 8, 7), true, "c", []byte{7}},
		{"two tags", header(0, 0, 2, 0, 0, 1, 1, 9, 7), true, "", []byte{7}},
		{"flexible read as legacy keeps the tags", header(0, 0, 0, 7), false, "", []byte{0, 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id, body, err := Split(c.payload, c.flexible)
			require.NoError(t, err)
			require.Equal(t, c.clientID, string(id))
			require.Equal(t, c.body, body)
		})
	}
}

func TestRefusedHeaders(t *testing.T) {
	t.Parallel()
	for _, payload := range [][]byte{nil, {0}, header(0)} {
		_, err := ParseHeader(payload)
		require.ErrorIs(t, err, ErrHeader, "%x", payload)
	}
	for name, payload := range map[string][]byte{
		"client id runs out":        header(0x7f, 0xff, 'c'),
		"no tag section":            header(0xff, 0xff),
		"tag count runs out":        header(0xff, 0xff, 0x80),
		"four billion tags":         header(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0),
		"over-long tag count":       header(0xff, 0xff, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00),
		"tag count above 32 bits":   header(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f),
		"tag without size":          header(0xff, 0xff, 1, 0),
		"tag without number":        header(0xff, 0xff, 1),
		"tag runs out":              header(0xff, 0xff, 1, 0, 2, 8),
		"the largest tag":           header(0xff, 0xff, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"second tag is not present": header(0xff, 0xff, 2, 0, 1, 8),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Split(payload, true)
			require.ErrorIs(t, err, ErrHeader)
		})
	}
}

func TestResponseHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		key      int16
		flexible bool
		want     []byte
	}{
		{"v0", 12, false, []byte{0, 0, 0, 4, 1, 2, 3, 4}},
		{"v1", 12, true, []byte{0, 0, 0, 5, 1, 2, 3, 4, 0}},
		{"ApiVersions", 18, false, []byte{0, 0, 0, 4, 1, 2, 3, 4}},
		{"ApiVersions, flexible body", 18, true, []byte{0, 0, 0, 4, 1, 2, 3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := AppendResponseHeader(nil, c.key, c.flexible, 0x01020304)
			Finish(got, len(got))
			require.Equal(t, c.want, got)
			Finish(got, len(got)+0x01020300)
			require.Equal(t, append([]byte{1, 2, 3, c.want[3]}, c.want[4:]...), got, "with more behind it")
		})
	}
}

// FuzzHeader: whatever the bytes, a header is parsed or refused, and what is
// parsed lies within the payload.
func FuzzHeader(f *testing.F) {
	f.Add(payloadOf(f, kmsg.NewPtrHeartbeatRequest(), 3), false)
	f.Add(payloadOf(f, kmsg.NewPtrHeartbeatRequest(), 4, kmsg.FormatterClientID("c")), true)
	f.Add(header(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0), true)
	f.Fuzz(func(t *testing.T, payload []byte, flexible bool) {
		if _, err := ParseHeader(payload); err != nil {
			require.Less(t, len(payload), MinPayload)
			return
		}
		id, body, err := Split(payload, flexible)
		if err != nil {
			require.ErrorIs(t, err, ErrHeader)
			return
		}
		require.LessOrEqual(t, 10+len(id)+len(body), len(payload))
		require.Equal(t, body, payload[len(payload)-len(body):])
	})
}
