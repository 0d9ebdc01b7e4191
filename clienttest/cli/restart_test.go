package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
	"github.com/iggykafka/gateway/internal/porttest"
)

// TestKill kills the gateway in the middle of the work of a Java producer and a Java consumer, and starts it again
// on what the first has stored. Each record must be stored once: the producer is idempotent, and repeats what was not
// acknowledged. The consumer must get each at least once, from where it had committed.
func TestKill(t *testing.T) {
	if _, isBroker := clienttest.Broker(); isBroker {
		t.Skip("the broker is not ours to kill")
	}
	classPath := install(t, versions()[0])
	program := filepath.Join(t.TempDir(), "kafka-gateway")
	clienttest.Command(t, ".", "go", "build", "-o", program, "github.com/iggykafka/gateway/app/kafka-gateway")
	clienttest.EachStorage(t, func(t *testing.T, s clienttest.Storage) { kill(t, classPath, program, s.Lasting(t)) })
}

func kill(t *testing.T, classPath, program string, storage clienttest.Storage) {
	const total = 20_000
	addr, kill := startGateway(t, program, storage, porttest.Address(t))
	observer := clienttest.NewObserver(t, addr)
	_, err := observer.Admin.CreateTopic(t.Context(), 3, 1, nil, "orders")
	require.NoError(t, err)
	stored := func() int64 {
		ends, err := observer.Admin.ListEndOffsets(t.Context(), "orders")
		require.NoError(t, err)
		var sum int64
		for _, end := range ends["orders"] {
			require.NoError(t, end.Err)
			sum += end.Offset
		}
		return sum
	}

	config := filepath.Join(t.TempDir(), "producer.properties")
	require.NoError(t, os.WriteFile(config, []byte("retries=2147483647\nenable.idempotence=true\n"), 0o600)) // the tool turns both off
	consumer := startProcess(t, classPath, "kafka-verifiable-consumer", "--bootstrap-server", addr, "--topic", "orders", "--group-id", "billing",
		"--session-timeout", "6000", "--reset-policy", "earliest", "--verbose")
	producer := startProcess(t, classPath, "kafka-verifiable-producer", "--bootstrap-server", addr, "--topic", "orders", "--acks", "-1",
		"--max-messages", "20000", "--throughput", "4000", "--command-config", config)
	clienttest.Await(t, "a quarter of the records to be consumed", func() bool { return strings.Count(consumer.text(), `"record_data"`) > total/4 })
	kill()
	_, kill = startGateway(t, program, storage, addr)
	defer kill()

	producer.wait()
	acknowledged := count(t, producer.text(), func(e event) bool { return e.Name == "producer_send_success" })
	require.Equal(t, total, acknowledged)
	require.Equal(t, int64(total), stored(), "each acknowledged record is stored once")

	type position struct{ partition, offset int }
	clienttest.Await(t, "the consumer to get all records", func() bool {
		seen := map[position]bool{}
		for lines := bufio.NewScanner(strings.NewReader(consumer.text())); lines.Scan(); {
			var e struct {
				Name      string
				Partition int
				Offset    int
			}
			// The last line may not be whole yet.
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Name == "record_data" {
				seen[position{e.Partition, e.Offset}] = true
			}
		}
		return len(seen) == total
	})
}

// startGateway starts the program and returns the address that it names when it is ready, and how to kill it.
func startGateway(t *testing.T, program string, storage clienttest.Storage, listen string, flags ...string) (addr string, kill func()) {
	flags = append(flags, "--listen", listen, "--admin.listen=", "--groups.initial_rebalance_delay", "0s")
	cmd := exec.CommandContext(t.Context(), program, append(storage.Flags(), flags...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	ready := regexp.MustCompile(`ready on (\S+)`).FindStringSubmatch(line)
	require.Len(t, ready, 2, line)
	return ready[1], kill
}
