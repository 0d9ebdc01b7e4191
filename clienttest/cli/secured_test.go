package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/clienttest/secured"
)

// TestSecured has the tools, and so the Java clients, of two versions log in in each way, and be refused in each way.
func TestSecured(t *testing.T) {
	t.Parallel()
	server := secured.Start(t, 0)
	for _, version := range versions()[:2] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tl := startSecured(t, server, version)
			for i, login := range server.Logins(t) {
				t.Run(login.Name, func(t *testing.T) { tl.with(t, login).tour(clienttest.Codecs()[i]) })
			}
			seen := map[[2]string]bool{}
			for _, fault := range server.Faults(t) {
				if alike := [2]string{fault.Kind, fault.Says}; !seen[alike] {
					seen[alike] = true
					t.Run(fault.Name, func(t *testing.T) { tl.with(t, fault.Login).refused(fault) })
				}
			}
		})
	}
}

// securedTools are tools that log in.
type securedTools struct {
	*tools
	version, addr, config string
}

func startSecured(t *testing.T, server *secured.Server, version string) *securedTools {
	allowed := "-D" + secured.AllowedURLs + "=" + server.TokenURLs()
	return &securedTools{tools: startTools(t, install(t, version), allowed), version: version}
}

// with returns the tools with another login. They are the same process, so one of them runs at a time.
func (s *securedTools) with(t *testing.T, l secured.Login) *securedTools {
	other := *s
	other.t = t
	other.addr, other.config = l.Address, l.Properties(t, map[string]string{"default.api.timeout.ms": "30000", "request.timeout.ms": "20000"})
	return &other
}

// on adds the address and the login to a command, which is how its version and tool want it.
func (s *securedTools) on(command ...string) []string {
	option := "--command-config"
	if s.version != versions()[0] {
		switch command[0] {
		case "kafka-console-producer":
			option = "--producer.config"
		case "kafka-console-consumer":
			option = "--consumer.config"
		}
	}
	return append(command, "--bootstrap-server", s.addr, option, s.config)
}

// tour makes a topic, writes and reads records with keys and headers, as a member of a group, and looks at both.
func (s *securedTools) tour(codec string) {
	topic, group := clienttest.Unique(s.t, "topic"), clienttest.Unique(s.t, "group")
	reader, formatter := "--reader-property", "--formatter-property"
	if s.version != versions()[0] {
		reader, formatter = "--property", "--property"
	}
	s.ok("", s.on("kafka-topics", "--create", "--topic", topic, "--partitions", "3")...)
	var in, want []string
	for i := range 100 {
		in = append(in, fmt.Sprintf("h:%d\tkey-%d\tvalue-%d\n", i, i, i))
		want = append(want, fmt.Sprintf("h:%d\tkey-%d\tvalue-%d", i, i, i))
	}
	s.ok(strings.Join(in, ""), s.on("kafka-console-producer", "--topic", topic, "--compression-codec", codec,
		reader, "parse.key=true", reader, "parse.headers=true")...)
	out := s.ok("", s.on("kafka-console-consumer", "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "100",
		formatter, "print.key=true", formatter, "print.headers=true")...)
	require.ElementsMatch(s.t, want, strings.Split(strings.TrimSpace(out), "\n"))
	out = s.ok("", s.on("kafka-get-offsets", "--topic", topic)...)
	require.Equal(s.t, 3, strings.Count(out, topic+":"), out)
	if s.version == versions()[0] {
		require.Contains(s.t, s.ok("", s.on("kafka-topics", "--list")...), topic)
		require.Contains(s.t, s.ok("", s.on("kafka-topics", "--describe", "--topic", topic)...), "PartitionCount: 3")
	}
	s.ok("", s.on("kafka-topics", "--delete", "--topic", topic)...)
}

// says maps kinds of faults to what Java says of them.
var says = map[string]string{
	secured.WrongPassword:      "org.apache.kafka.common.errors.SaslAuthenticationException: ",
	secured.BadToken:           "org.apache.kafka.common.errors.SaslAuthenticationException: ",
	secured.NotEnabled:         "UnsupportedSaslMechanismException: Client SASL mechanism 'SCRAM-SHA-512' not enabled in the server, enabled mechanisms are [PLAIN]",
	secured.UnknownAuthority:   "SslAuthenticationException: SSL handshake failed",
	secured.OtherHost:          "SslAuthenticationException: SSL handshake failed",
	secured.NoCertificate:      "SslAuthenticationException: ",
	secured.StrangeCertificate: "SslAuthenticationException: ",
	secured.NotAllowed:         "TopicAuthorizationException: ",
}

func (s *securedTools) refused(fault secured.Fault) {
	out := s.run("", s.on("kafka-topics", "--create", "--topic", clienttest.Unique(s.t, "topic"))...)
	require.NotZero(s.t, out.code)
	said := out.stdout + out.stderr
	require.Contains(s.t, said, says[fault.Kind])
	require.Contains(s.t, said, fault.Says)
}
