package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/internal/porttest"
	"github.com/iggykafka/gateway/internal/rawclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// wait bounds the start of a broker on a slow machine.
	wait  = 2 * time.Minute
	pause = 100 * time.Millisecond
	// patience is how long an answer may take on a slow machine.
	patience = time.Minute
	// silence is how long is listened where no answer is expected: Kafka never answers
	// some requests, and nothing else tells that it will not. A stream sends those at
	// one version only.
	silence = 2 * time.Second
	// lag bounds how long a broker's metadata may be behind its controller's.
	lag = 10 * time.Second
)

// kafkaVar names a Kafka 4.4 broker to compare with, freshly made and without
// topics, by the addresses of broker: "plain,sasl,controller,scram,renewed,ends".
// Without it the tests start one. TestAgainstKafka needs the first alone, only
// TestScramLogins the fourth, and only TestLoginsAgainstKafka the last two.
const kafkaVar = "KAFKA_ORACLE_ADDR"

// broker is the addresses of a Kafka broker. It has the StandardAuthorizer; whoever
// comes to plain or controller, without a login, is a super user. To sasl
// (SASL_PLAINTEXT) come the users of package oracle, with their name as password. At
// scram one logs in by SCRAM. At renewed and ends one logs in by PLAIN or SCRAM, for an
// hour and for 6 seconds.
type broker struct{ plain, sasl, controller, scram, renewed, ends string }

func gatewayAddr(t *testing.T) string { return clienttest.Address(t) }

func kafkaBroker(t *testing.T) broker {
	addrs := strings.Split(os.Getenv(kafkaVar), ",")
	switch {
	case addrs[0] == "":
		return startKafka(t)
	case len(addrs) < 3:
		return broker{plain: addrs[0]}
	}
	addrs = append(addrs, "", "", "")
	return broker{addrs[0], addrs[1], addrs[2], addrs[3], addrs[4], addrs[5]}
}

// startKafka runs a single-node Kafka 4.4 until the end of the test.
func startKafka(t *testing.T) broker {
	jars := kafkaJars(t)
	dir := t.TempDir()
	plain, controller, sasl, scram := porttest.Address(t), porttest.Address(t), porttest.Address(t), porttest.Address(t)
	renewed, ends := porttest.Address(t), porttest.Address(t)
	properties := filepath.Join(dir, "server.properties")
	require.NoError(t, os.WriteFile(properties, fmt.Appendf(nil, `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s,SASL_PLAINTEXT://%[4]s,SCRAM://%[6]s,RENEWED://%[7]s,ENDS://%[8]s
advertised.listeners=PLAINTEXT://%[1]s,SASL_PLAINTEXT://%[4]s,SCRAM://%[6]s,RENEWED://%[7]s,ENDS://%[8]s
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SCRAM:SASL_PLAINTEXT,RENEWED:SASL_PLAINTEXT,ENDS:SASL_PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs=%[3]s/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%[5]s="%[5]s";
listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512
listener.name.scram.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.scram.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
`+renewing("renewed", time.Hour)+renewing("ends", 6*time.Second), plain, controller, dir, sasl, user, scram, renewed, ends), 0o644))

	java := func(class string, args ...string) *exec.Cmd {
		return exec.Command("java", append([]string{
			"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-cp", filepath.Join(jars, "*"), class}, args...)...)
	}
	out, err := java("kafka.tools.StorageTool", "format", "-t", "b3JhY2xlb3JhY2xlb3JhYw", "-c", properties).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)

	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	server := java("kafka.Kafka", properties)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		log.Close()
		if t.Failed() {
			tail, _ := os.ReadFile(log.Name())
			t.Logf("the broker's log ends: %s", tail[max(0, len(tail)-2000):])
		}
	})
	started := broker{plain, sasl, controller, scram, renewed, ends}
	require.Eventually(t, func() bool { return answers(started.plain) }, wait, pause, "the broker does not answer")
	return started
}

// renewing is the section of a listener whose logins end, for two users.
func renewing(listener string, after time.Duration) string {
	module := "org.apache.kafka.common.security."
	of := "listener.name." + listener + "."
	return fmt.Sprintf(`%[1]ssasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
%[1]sconnections.max.reauth.ms=%[2]d
%[1]splain.sasl.jaas.config=%[3]splain.PlainLoginModule required user_%[4]s="%[4]s" user_bob="bob";
%[1]sscram-sha-256.sasl.jaas.config=%[3]sscram.ScramLoginModule required;
%[1]sscram-sha-512.sasl.jaas.config=%[3]sscram.ScramLoginModule required;
`, of, after.Milliseconds(), module, user)
}

// kafkaJars installs the broker, which comes with the tools that need it.
func kafkaJars(t *testing.T) string {
	clienttest.NeedCommand(t, "java", "mvn")
	return clienttest.Install(t, "kafka-broker", []string{"../cli/pom-4.4.xml"}, func(dir string) {
		clienttest.Command(t, dir, "mvn", "-B", "-q", "-f", "pom-4.4.xml", "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	})
}

func answers(addr string) bool {
	c, err := rawclient.Dial(addr, "oracle")
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(silence)) // it is asked again
	_, err = c.Call(kmsg.NewPtrApiVersionsRequest())
	return err == nil
}
