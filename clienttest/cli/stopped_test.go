package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/internal/porttest"
)

// TestStoppedGroup stops a Java consumer and kills the gateway. With groups.coordinator: durable the tools find its group
// before and after that: they list it, describe it with its lag, reset and at last delete it, for good.
func TestStoppedGroup(t *testing.T) {
	if _, isBroker := clienttest.Broker(); isBroker {
		t.Skip("the broker is not ours to kill")
	}
	classPath := install(t, versions()[0])
	program := filepath.Join(t.TempDir(), "kafka-gateway")
	clienttest.Command(t, ".", "go", "build", "-o", program, "github.com/iggykafka/gateway/app/kafka-gateway")
	clienttest.EachStorage(t, func(t *testing.T, s clienttest.Storage) {
		stopped := stoppedGroup{T: t, tools: startTools(t, classPath), program: program, storage: s.Lasting(t), addr: porttest.Address(t)}
		stopped.test(classPath)
	})
}

type stoppedGroup struct {
	*testing.T
	tools   *tools
	program string
	storage clienttest.Storage
	addr    string
	kill    func()
}

func (s *stoppedGroup) test(classPath string) {
	s.restart()
	s.tools.ok("", "kafka-topics", "--bootstrap-server", s.addr, "--create", "--topic", "orders")
	s.produce("a", "b", "c")
	// It commits what it has printed when it ends.
	runProcess(s.T, classPath, "kafka-console-consumer", "--bootstrap-server", s.addr, "--topic", "orders", "--group", "billing",
		"--from-beginning", "--max-messages", "3")
	s.produce("d", "e")

	for range 2 { // before and after a kill
		require.Equal(s, "billing Empty", s.group("--list", "--state"))
		require.Equal(s, "billing orders 0 3 5 2 - - -", s.group("--describe", "--group", "billing"))
		require.Equal(s, "billing "+s.addr+" (1) - Empty 0", s.group("--describe", "--group", "billing", "--state"))
		require.Equal(s, "billing orders 0 2", s.group("--reset-offsets", "--group", "billing", "--topic", "orders", "--to-offset", "2", "--execute"))
		require.Equal(s, "billing orders 0 2 5 3 - - -", s.group("--describe", "--group", "billing"))
		s.restart()
		require.Equal(s, "billing orders 0 2 5 3 - - -", s.group("--describe", "--group", "billing"))
		require.Equal(s, "billing orders 0 3", s.group("--reset-offsets", "--group", "billing", "--topic", "orders", "--shift-by", "1", "--execute"))
	}

	s.tools.ok("", "kafka-consumer-groups", "--bootstrap-server", s.addr, "--delete", "--group", "billing")
	require.Empty(s, s.group("--list"))
	s.restart()
	require.Empty(s, s.group("--list"))
}

// restart kills the gateway, if there is one, and starts it on the same storage and port.
func (s *stoppedGroup) restart() {
	if s.kill != nil {
		s.kill()
	}
	s.addr, s.kill = startGateway(s.T, s.program, s.storage, s.addr, "--groups.coordinator", "durable")
}

func (s *stoppedGroup) produce(values ...string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.addr), kgo.DefaultProduceTopic("orders"))
	require.NoError(s, err)
	defer client.Close()
	for _, value := range values {
		require.NoError(s, client.ProduceSync(s.Context(), kgo.StringRecord(value)).FirstErr())
	}
}

// group runs kafka-consumer-groups and returns its last line, "" if it printed none, with single blanks.
func (s *stoppedGroup) group(args ...string) string {
	out := s.tools.ok("", append([]string{"kafka-consumer-groups", "--bootstrap-server", s.addr}, args...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(strings.Fields(lines[len(lines)-1]), " ")
}
