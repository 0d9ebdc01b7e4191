package secured

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/internal/porttest"
)

// kafkaVar names a folder with the jars of a Kafka broker, as clienttest/oracle installs them.
const kafkaVar = "KAFKA_GATEWAY_TEST_SECURED"

// Kafka says whether a broker stands in for the gateway.
func Kafka() bool { return os.Getenv(kafkaVar) != "" }

// startKafka runs a single-node broker that is set as the gateway is.
func (s *Server) startKafka(t testing.TB, jars string, reauth time.Duration) {
	t.Helper()
	dir := t.TempDir()
	for _, to := range []*string{&s.Open, &s.sasl, &s.ssl, &s.plainOnly, &s.elsewhere} {
		*to = porttest.Address(t)
	}
	properties := filepath.Join(dir, "server.properties")
	require.NoError(t, os.WriteFile(properties, []byte(s.kafkaProperties(dir, porttest.Address(t), reauth)), 0o600))
	java := func(class string, args ...string) *exec.Cmd {
		return exec.Command("java", append([]string{
			"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-D" + AllowedURLs + "=file://" + s.tokens.jwks, "-cp", filepath.Join(jars, "*"), class,
		}, args...)...)
	}
	out, err := java("kafka.tools.StorageTool", "format", "-t", "b3JhY2xlb3JhY2xlb3JhYw", "-c", properties).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
	var log bytes.Buffer
	broker := java("kafka.Kafka", properties)
	broker.Stdout, broker.Stderr = &log, &log
	require.NoError(t, broker.Start())
	t.Cleanup(func() {
		_ = broker.Process.Signal(syscall.SIGTERM)
		_ = broker.Wait()
		if t.Failed() {
			t.Logf("the broker's log ends: %s", log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Open))
	require.NoError(t, err)
	defer client.Close()
	require.Eventually(t, func() bool { return client.Ping(t.Context()) == nil }, 2*time.Minute, 100*time.Millisecond)
}

// kafkaProperties are the broker's settings.
func (s *Server) kafkaProperties(dir, controller string, reauth time.Duration) string {
	listeners := fmt.Sprintf("OPEN://%s,SASL://%s,SSLONLY://%s,PLAINONLY://%s,ELSEWHERE://%s", s.Open, s.sasl, s.ssl, s.plainOnly, s.elsewhere)
	var out strings.Builder
	set := func(key, value string) { fmt.Fprintf(&out, "%s=%s\n", key, value) }
	set("process.roles", "broker,controller")
	set("node.id", "1")
	set("controller.quorum.voters", "1@"+controller)
	set("listeners", listeners+",CONTROLLER://"+controller)
	set("advertised.listeners", listeners)
	set("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,OPEN:PLAINTEXT,SASL:SASL_SSL,SSLONLY:SSL,PLAINONLY:SASL_SSL,ELSEWHERE:SASL_SSL")
	set("inter.broker.listener.name", "OPEN")
	set("controller.listener.names", "CONTROLLER")
	set("log.dirs", filepath.Join(dir, "data"))
	for _, key := range []string{
		"offsets.topic.replication.factor", "offsets.topic.num.partitions", "transaction.state.log.replication.factor",
		"transaction.state.log.min.isr", "share.coordinator.state.topic.replication.factor", "share.coordinator.state.topic.min.isr",
	} {
		set(key, "1")
	}
	set("group.initial.rebalance.delay.ms", "0")
	set("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
	set("super.users", strings.Join(superUsers(), ";"))
	set("ssl.principal.mapping.rules", rules)
	set("ssl.keystore.type", "PEM")
	set("ssl.keystore.location", s.server)
	set("ssl.truststore.type", "PEM")
	set("ssl.truststore.location", s.ca)
	set("listener.name.sslonly.ssl.client.auth", "required")
	set("listener.name.elsewhere.ssl.keystore.type", "PEM")
	set("listener.name.elsewhere.ssl.keystore.location", s.elsewherePEM)
	for name, mechanisms := range map[string][]string{
		"sasl": {Plain, Scram256, Scram512, OAuthBearer}, "plainonly": {Plain}, "elsewhere": {Plain},
	} {
		of := "listener.name." + name + "."
		set(of+"sasl.enabled.mechanisms", strings.Join(mechanisms, ","))
		set(of+"connections.max.reauth.ms", fmt.Sprint(reauth.Milliseconds()))
		for _, mechanism := range mechanisms {
			set(of+strings.ToLower(mechanism)+".sasl.jaas.config", "org.apache.kafka.common.security."+map[string]string{
				Plain:    fmt.Sprintf(`plain.PlainLoginModule required user_%s="%s" user_%s="%s";`, Alice, passwordOf(Alice), Mallory, passwordOf(Mallory)),
				Scram256: "scram.ScramLoginModule required;", Scram512: "scram.ScramLoginModule required;",
				OAuthBearer: "oauthbearer.OAuthBearerLoginModule required;",
			}[mechanism])
		}
	}
	set("listener.name.sasl.oauthbearer.sasl.server.callback.handler.class", "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler")
	set("sasl.oauthbearer.jwks.endpoint.url", "file://"+s.tokens.jwks)
	set("sasl.oauthbearer.expected.issuer", issuerName)
	set("sasl.oauthbearer.expected.audience", audience)
	return out.String()
}
