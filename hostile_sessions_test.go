package gateway_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
)

// act is one frame that a client sends, and what its answer shows.
type act struct {
	name  string
	bytes []byte
	req   kmsg.Request // nil: a bare token
}

// acting makes the frames of one connection.
type acting struct{ *rand.Rand }

// framed is a request with its length and header.
func framed(correlation int32, req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("acting")).AppendRequest(nil, req, correlation)
}

func plainToken(user, password string) []byte { return []byte("\x00" + user + "\x00" + password) }

// next makes any frame of those that matter to a login.
func (r acting) next(n int32) act {
	user := []string{"alice", "bob"}[r.IntN(2)]
	token := plainToken(user, user+"'s secret")
	if r.IntN(6) == 0 {
		token, user = plainToken(user, "wrong"), "nobody"
	}
	switch r.IntN(10) {
	case 0, 1:
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Version, req.Mechanism = int16(r.IntN(2)), []string{"PLAIN", "PLAIN", "PLAIN", "SCRAM-SHA-256", "OTHER"}[r.IntN(5)]
		return act{fmt.Sprintf("handshake v%d %s", req.Version, req.Mechanism), framed(n, req), req}
	case 2, 3, 4:
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.Version, req.SASLAuthBytes = int16(r.IntN(3)), token
		return act{"authenticate as " + user, framed(n, req), req}
	case 5:
		return act{"token of " + user, append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...), nil}
	case 6:
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = int16(r.IntN(4))
		return act{"versions", framed(n, req), req}
	case 7: // waits for records that never come
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 11, int32(r.IntN(60)), 1, 1<<20
		topic, partition := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		topic.Topic, partition.PartitionMaxBytes = user+"s", 1<<20
		topic.Partitions = append(topic.Partitions, partition)
		req.Topics = append(req.Topics, topic)
		return act{"fetch", framed(n, req), req}
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	return act{"metadata", framed(n, req), req}
}

// login makes what logs a user in, by either kind of token.
func (r acting) login(user string) []act {
	shake := kmsg.NewPtrSASLHandshakeRequest()
	shake.Version, shake.Mechanism = int16(r.IntN(2)), "PLAIN"
	token := plainToken(user, user+"'s secret")
	second := act{"token of " + user, append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...), nil}
	if shake.Version == 1 {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.Version, req.SASLAuthBytes = 2, token
		second = act{"authenticate as " + user, framed(1, req), req}
	}
	return []act{{"handshake for " + user, framed(0, shake), shake}, second}
}

// Whatever frames come in whatever order and pieces, ahead of the answers to those
// before them: a connection is that of the user who logged in first, and nobody's
// before that.
func TestFramesAroundLogins(t *testing.T) {
	var secure string
	plain := gatewaytest.Start(t, gatewaytest.ACLs(),
		gatewaytest.Config(func(c *app.Config) { c.SASL.Logins.FailureDelay, c.SASL.Logins.MaxReauth = 0, time.Hour }),
		gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &secure))
	client, err := kgo.NewClient(kgo.SeedBrokers(plain))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	for _, user := range []string{"alice", "bob"} {
		_, err := admin.CreateTopic(t.Context(), 1, 1, nil, user+"s")
		require.NoError(t, err)
		_, err = admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: user, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: user + "'s secret"}})
		require.NoError(t, err)
		acls := kadm.NewACLs().Allow("User:" + user).AllowHosts("*").Topics(user + "s").Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral)
		_, err = admin.CreateACLs(t.Context(), acls)
		require.NoError(t, err)
	}
	seen, logins, second := map[string]int{}, 0, 0
	for seed := range uint64(500) {
		r := acting{rand.New(rand.NewPCG(seed, 6))}
		var acts []act
		if r.IntN(3) > 0 {
			acts = r.login([]string{"alice", "bob"}[r.IntN(2)])
			if r.IntN(2) == 0 { // a second user on the same connection
				acts = append(acts, r.login([]string{"alice", "bob"}[r.IntN(2)])...)
				second++
			}
		}
		for range 1 + r.IntN(5) {
			at := r.IntN(len(acts) + 1)
			acts = append(acts[:at], append([]act{r.next(int32(len(acts)))}, acts[at:]...)...)
		}
		who := perform(t, secure, r, acts, seen)
		if who != "" {
			logins++
		}
	}
	t.Logf("%d logins, %d connections of two users, %v", logins, second, seen)
	require.Greater(t, logins, 40)
	require.Greater(t, seen["metadata"], 20)
}

// perform sends the frames in pieces, reads what comes back, and returns who logged in.
func perform(t *testing.T, addr string, r acting, acts []act, seen map[string]int) (who string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	var all []byte
	var names []string
	for _, a := range acts {
		all, names = append(all, a.bytes...), append(names, a.name)
	}
	sent := make(chan struct{})
	go func() { // the server may close before it has read all
		defer close(sent)
		for len(all) > 0 {
			n := 1 + r.IntN(len(all))
			if _, err := c.Write(all[:n]); err != nil {
				return
			}
			all = all[n:]
		}
	}()
	for _, a := range acts {
		head := make([]byte, 4)
		if _, err := io.ReadFull(c, head); err != nil {
			require.False(t, errors.Is(err, net.ErrClosed), names)
			break
		}
		body := make([]byte, binary.BigEndian.Uint32(head))
		_, err := io.ReadFull(c, body)
		require.NoError(t, err, names)
		seen[a.name]++
		who = witness(t, a, body, who, names)
	}
	<-sent
	return who
}

// witness looks at an answer: it returns who is logged in after it.
func witness(t *testing.T, a act, body []byte, who string, names []string) string {
	t.Helper()
	success := a.req == nil // there is no answer to a bare token that failed
	if a.req != nil {
		resp := a.req.ResponseKind()
		resp.SetVersion(a.req.GetVersion())
		body = body[4:]
		if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
			body = body[1:]
		}
		require.NoError(t, resp.ReadFrom(body), "%s of %v", a.name, names)
		switch resp := resp.(type) {
		case *kmsg.SASLAuthenticateResponse:
			success = resp.ErrorCode == 0
		case *kmsg.MetadataResponse:
			require.NotEmpty(t, who, "an answer to nobody: %v", names)
			require.Len(t, resp.Topics, 1, names)
			require.Equal(t, who+"s", *resp.Topics[0].Topic, names)
		case *kmsg.FetchResponse:
			require.NotEmpty(t, who, "an answer to nobody: %v", names)
			own := resp.Topics[0].Topic == who+"s"
			require.Equal(t, own, resp.Topics[0].Partitions[0].ErrorCode == 0, names)
		}
	}
	if !success {
		return who
	}
	for _, user := range []string{"alice", "bob"} {
		if a.name == "authenticate as "+user || a.name == "token of "+user {
			require.Contains(t, []string{"", user}, who, "another user took the connection over: %v", names)
			return user
		}
	}
	require.Fail(t, "a wrong password logged in", "%v", names)
	return who
}
