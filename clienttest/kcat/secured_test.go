package kcat

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

// TestSecured logs in in each way, and is refused in each way.
func TestSecured(t *testing.T) {
	t.Parallel()
	needKcat(t)
	server := secured.Start(t, 0)
	for i, login := range server.Logins(t) {
		t.Run(login.Name, func(t *testing.T) {
			t.Parallel()
			skipIfLacking(t, login)
			b := broker{
				addr: login.Address, login: options(login), topic: clienttest.Unique(t, "topic"),
				Observer: clienttest.NewObserver(t, server.Open),
			}
			b.create(t, b.topic)
			b.tour(t, clienttest.Codecs()[i])
		})
	}
	says := map[string]string{
		secured.NotEnabled:         "Unsupported SASL mechanism",
		secured.UnknownAuthority:   "certificate verify failed",
		secured.OtherHost:          "certificate verify failed",
		secured.NoCertificate:      " alert ",
		secured.StrangeCertificate: " alert ",
		secured.NotAllowed:         "Topic authorization failed",
	}
	for _, fault := range server.Faults(t) {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			if fault.Kind == secured.BadToken || fault.Kind == secured.NotAllowed {
				skipIfLacking(t, fault.Login)
			}
			b := broker{addr: fault.Address, login: options(fault.Login)}
			said := b.refused(t)
			require.Contains(t, said, says[fault.Kind])
			require.Contains(t, said, fault.Says)
		})
	}
}

// lacks says what the librdkafka of Debian cannot. Its faults at SCRAM are those of a wrong password.
var lacks = map[string]string{
	secured.Scram256: "librdkafka before 2.6.1 repeats its nonce, which Kafka 3.8.1 refuses and all that came after it (CVE-2024-56128)",
	secured.Scram512: "librdkafka before 2.6.1 repeats its nonce, which Kafka 3.8.1 refuses and all that came after it (CVE-2024-56128)",

	secured.OAuthBearer: "kcat hands over no tokens, and its librdkafka is built without what fetches them",
}

func skipIfLacking(t *testing.T, l secured.Login) {
	if why, lacks := lacks[l.Mechanism]; lacks {
		t.Skip("kcat cannot: " + why)
	}
}

// options say how to log in. Debian's librdkafka checks names of hosts only when it is told to.
func options(l secured.Login) []string {
	out := []string{"-X", "ssl.endpoint.identification.algorithm=https"}
	for key, value := range l.Librdkafka(true) {
		if key != "bootstrap.servers" { // which kcat has another option for
			out = append(out, "-X", key+"="+value)
		}
	}
	return out
}

// tour writes, reads, and consumes as a member of a group.
func (b broker) tour(t *testing.T, codec string) {
	b.kcat(t, lines(), "-P", "-t", b.topic, "-z", codec, "-X", "enable.idempotence=true", "-H", "again=a", "-K", ":", "-Z")
	got := decode(t, b.kcat(t, "", "-C", "-t", b.topic, "-o", "beginning", "-e", "-J"))
	require.Len(t, got, recordCount)
	_, facts := b.Read(t, b.topic, recordCount)
	require.Equal(t, []string{codec}, facts.Codecs)

	name := clienttest.Unique(t, "group")
	m := b.join(t, name)
	clienttest.Await(t, "all records", func() bool { return len(positions(m)) == recordCount })
	b.settle(t, name, 1)
	m.stop() // which commits
	var sum int64
	for _, offset := range b.Committed(t, name, b.topic) {
		sum += offset
	}
	require.EqualValues(t, recordCount, sum)
}

// refused returns what kcat says that asks for a topic. It goes on trying where it does not get in, and is stopped then.
func (b broker) refused(t *testing.T) string {
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "kcat", b.options("-m", "2", "-L", "-t", "secret", "-X", "allow.auto.create.topics=true")...)
	cmd.Stdout, cmd.Stderr = &said, &said
	_ = cmd.Run()
	return strings.TrimSpace(said.String())
}
