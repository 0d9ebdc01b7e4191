package message_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend/iggy/message"
)

// Sarama's metrics have a goroutine that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// serverTime is what the server notes as the time of the append, in µs.
const serverTime = 1_800_000_000_123_456

// The golden vectors, one file for each row of the table in README.md. A command
// "record" shows a record's fields, the message that stores it and what is read
// back from the bytes of that message; "message" reads a message that others
// wrote. Regenerate with -rewrite, and read the difference.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			datadriven.RunTest(t, file, golden)
		})
	}
}

func golden(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "record":
		return goldenRecord(t, d)
	case "message":
		m := goldenMessage(t, d.Input)
		return "record\n" + readBack(&m)
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func goldenRecord(t *testing.T, d *datadriven.TestData) string {
	id := message.ID{0: 1, 15: 2}
	if d.HasArg("producer") {
		var producer, epoch, sequence int
		d.ScanArgs(t, "producer", &producer)
		d.ScanArgs(t, "epoch", &epoch)
		d.ScanArgs(t, "sequence", &sequence)
		id = message.NewID(int64(producer), int16(epoch), int32(sequence), d.HasArg("first"))
	}
	r := parseRecord(t, d.Input)
	m, err := message.Encode(&r, id)
	if err != nil {
		require.ErrorIs(t, err, message.ErrTooLarge)
		return err.Error() + "\n"
	}
	raw := wire(&m)
	got := unwire(t, raw)
	require.Equal(t, raw, wire(&got))
	got.Header.Timestamp = serverTime
	return "message\n" + show(&m) + "bytes " + abbreviated(raw) + "\nrecord\n" + readBack(&got)
}

// wire is a message as the SDK sends it.
func wire(m *message.Message) []byte {
	return append(append(m.Header.ToBytes(), m.Payload...), m.UserHeaders...)
}

func unwire(t *testing.T, raw []byte) message.Message {
	h, err := iggcon.MessageHeaderFromBytes(raw[:iggcon.MessageHeaderSize])
	require.NoError(t, err)
	body := raw[iggcon.MessageHeaderSize:]
	require.Len(t, body, int(h.PayloadLength+h.UserHeaderLength))
	return message.Message{Header: *h, Payload: body[:h.PayloadLength], UserHeaders: body[h.PayloadLength:]}
}

// show prints a message part by part; a user header a line.
func show(m *message.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  id %x\n  origin_timestamp %d\n  payload %s\n", m.Header.Id, m.Header.OriginTimestamp, abbreviated(m.Payload))
	entries, err := iggcon.DeserializeHeaders(m.UserHeaders)
	if err != nil {
		return b.String() + "  the SDK does not read the user headers: " + err.Error() + "\n"
	}
	if !bytes.Equal(iggcon.GetHeadersBytes(entries), m.UserHeaders) {
		return b.String() + "  the SDK writes other user headers\n"
	}
	const most = 8
	for i, e := range entries {
		if i == most {
			fmt.Fprintf(&b, "  and %d user headers more\n", len(entries)-most)
			break
		}
		fmt.Fprintf(&b, "  user header %d %s = %d %s\n", e.Key.Kind, short(e.Key.Value), e.Value.Kind, short(e.Value.Value))
	}
	return b.String()
}

func readBack(m *message.Message) string {
	var r message.Record
	if err := message.Decode(m, &r); err != nil {
		if !errors.Is(err, message.ErrUnreadable) {
			return "  another error: " + err.Error() + "\n"
		}
		return "  " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  timestamp %d\n  key %s\n  value %s\n", r.Timestamp, short(r.Key), short(r.Value))
	const most = 8
	for i, h := range r.Headers {
		if i == most {
			fmt.Fprintf(&b, "  and %d headers more\n", len(r.Headers)-most)
			break
		}
		fmt.Fprintf(&b, "  header %s %s\n", short(h.Name), short(h.Value))
	}
	return b.String()
}

// abbreviated prints bytes in hex, and of many their length and hash.
func abbreviated(b []byte) string {
	const most = 1024
	if len(b) <= most {
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("of length %d and SHA-256 %x", len(b), sha256.Sum256(b))
}

// short prints a field as parseField reads it.
func short(b []byte) string {
	const few = 40
	switch {
	case b == nil:
		return "null"
	case len(b) > few && len(bytes.Trim(b[1:], string(b[:1]))) == 0:
		return fmt.Sprintf("%d*%q", len(b), b[:1])
	}
	return strconv.Quote(string(b))
}

// parseRecord reads lines of timestamp, key, value, header, and "headers N" which
// gives N headers of the longest value.
func parseRecord(t *testing.T, input string) message.Record {
	r := message.Record{Timestamp: 1_700_000_000_000}
	for line := range strings.Lines(input) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "timestamp":
			ms, err := strconv.ParseInt(rest, 10, 64)
			require.NoError(t, err)
			r.Timestamp = ms
		case "key":
			r.Key, _ = parseField(t, rest)
		case "value":
			r.Value, _ = parseField(t, rest)
		case "header":
			key, rest := parseField(t, rest)
			value, _ := parseField(t, rest)
			r.Headers = append(r.Headers, message.Header{Name: key, Value: value})
		case "headers":
			n, err := strconv.Atoi(rest)
			require.NoError(t, err)
			for i := range n {
				r.Headers = append(r.Headers, message.Header{Name: fmt.Appendf(nil, "n%05d", i), Value: bytes.Repeat([]byte("v"), 255)})
			}
		default:
			t.Fatalf("a record has no %q", line)
		}
	}
	return r
}

// parseField reads null, a quoted string, or N*"x".
func parseField(t *testing.T, s string) (field []byte, rest string) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "null"); ok {
		return nil, rest
	}
	n := 1
	if times, rest, ok := strings.Cut(s, "*"); ok && !strings.HasPrefix(s, `"`) {
		var err error
		n, err = strconv.Atoi(times)
		require.NoError(t, err)
		s = rest
	}
	quoted, err := strconv.QuotedPrefix(s)
	require.NoError(t, err, s)
	text, err := strconv.Unquote(quoted)
	require.NoError(t, err)
	return append([]byte{}, strings.Repeat(text, n)...), s[len(quoted):]
}

// goldenMessage reads lines of timestamp and origin_timestamp (µs), payload
// (hex), "user KIND NAME = KIND VALUE" and "raw HEX" for user headers.
func goldenMessage(t *testing.T, input string) message.Message {
	m := message.Message{Payload: []byte{}}
	m.Header.Timestamp = serverTime
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	for line := range strings.Lines(input) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "timestamp":
			m.Header.Timestamp = number(rest)
		case "origin_timestamp":
			m.Header.OriginTimestamp = number(rest)
		case "payload":
			m.Payload = unhex(t, rest)
		case "raw":
			m.UserHeaders = append(m.UserHeaders, unhex(t, rest)...)
		case "user":
			var kind iggcon.HeaderKind
			entry := iggcon.HeaderEntry{}
			kindText, rest, _ := strings.Cut(rest, " ")
			kind = iggcon.HeaderKind(number(kindText))
			key, rest := parseField(t, rest)
			entry.Key = iggcon.HeaderKey{Kind: kind, Value: key}
			kindText, rest, _ = strings.Cut(strings.TrimPrefix(rest, " = "), " ")
			value, _ := parseField(t, rest)
			entry.Value = iggcon.HeaderValue{Kind: iggcon.HeaderKind(number(kindText)), Value: value}
			m.UserHeaders = append(m.UserHeaders, iggcon.GetHeadersBytes([]iggcon.HeaderEntry{entry})...)
		default:
			t.Fatalf("a message has no %q", line)
		}
	}
	m.Header.PayloadLength, m.Header.UserHeaderLength = uint32(len(m.Payload)), uint32(len(m.UserHeaders))
	return m
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return append([]byte{}, b...)
}
