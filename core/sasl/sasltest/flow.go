package sasltest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/internal/rawclient"
)

// flowPatience bounds one answer.
const flowPatience = time.Minute

// Flow goes through one connection to a server, step by step, and returns what the
// server did, a line for each step, until it closes the connection. The steps are
// lines:
//
//	versions 3                    ApiVersions
//	versions 3 unnamed            the same without the name of the client
//	handshake 1 PLAIN             SaslHandshake
//	token 1 "\x00alice\x00alice"  SaslAuthenticate
//	bare "\x00alice\x00alice"     a bare token
//	metadata 1                    Metadata without topics
//	wait 1000                     nothing, for so many ms
func Flow(t *testing.T, addr, steps string) string {
	t.Helper()
	c, err := rawclient.Dial(addr, "flow")
	require.NoError(t, err)
	defer c.Close()
	out := &strings.Builder{}
	for line := range strings.Lines(steps) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		require.NoError(t, c.SetDeadline(time.Now().Add(flowPatience)))
		said, err := step(c, line)
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			said, err = "closed", io.EOF
		} else {
			require.NoError(t, err, line)
		}
		word, _, _ := strings.Cut(line, " ")
		fmt.Fprintf(out, "%s: %s\n", word, said)
		if err != nil {
			break
		}
	}
	return out.String()
}

// step does one step and tells what came back.
func step(c *rawclient.Conn, line string) (string, error) {
	word, rest, _ := strings.Cut(line, " ")
	if word == "wait" { // for the end of a login, of which neither side tells
		d, err := time.ParseDuration(rest + "ms")
		time.Sleep(d)
		return "over", err
	}
	if word == "bare" {
		var token string
		if _, err := fmt.Sscanf(rest, "%q", &token); err != nil {
			return "", err
		}
		return bare(c, token)
	}
	var version int16
	var req kmsg.Request
	switch word {
	case "versions":
		r := kmsg.NewPtrApiVersionsRequest()
		r.ClientSoftwareName, r.ClientSoftwareVersion, req = "flow", "1", r
		if strings.HasSuffix(rest, " unnamed") {
			r.ClientSoftwareName = "" // which no client may have (KIP-511)
		}
	case "metadata":
		r := kmsg.NewPtrMetadataRequest()
		r.Topics, req = []kmsg.MetadataRequestTopic{}, r
	case "handshake":
		r := kmsg.NewPtrSASLHandshakeRequest()
		_, r.Mechanism, _ = strings.Cut(rest, " ")
		req = r
	case "token":
		var token string
		if _, err := fmt.Sscanf(rest, "%d %q", &version, &token); err != nil {
			return "", err
		}
		r := kmsg.NewPtrSASLAuthenticateRequest()
		r.SASLAuthBytes, req = []byte(token), r
	default:
		return "", fmt.Errorf("unknown step %q", line)
	}
	if _, err := fmt.Sscanf(rest, "%d", &version); err != nil {
		return "", err
	}
	req.SetVersion(version)
	resp, err := c.Call(req)
	if err != nil {
		return "", err
	}
	return tell(resp), nil
}

func tell(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		return fmt.Sprintf("code %d", r.ErrorCode)
	case *kmsg.SASLHandshakeResponse:
		return fmt.Sprintf("code %d, %d mechanisms", r.ErrorCode, len(r.SupportedMechanisms))
	case *kmsg.SASLAuthenticateResponse:
		message := "no message"
		if r.ErrorMessage != nil {
			message = fmt.Sprintf("%q", *r.ErrorMessage)
		}
		return fmt.Sprintf("code %d, %s, token %q, lifetime %d", r.ErrorCode, message, r.SASLAuthBytes, r.SessionLifetimeMillis)
	}
	return "answered"
}

// bare sends a token without a header, and reads one.
func bare(c *rawclient.Conn, token string) (string, error) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(token)))
	if _, err := c.Write(append(frame, token...)); err != nil {
		return "", err
	}
	answer, err := c.ReadFrame()
	return fmt.Sprintf("%q", answer), err
}
