// Package javascript runs the scenarios with kafkajs and with @platformatic/kafka.
package javascript

import (
	"testing"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

func TestKafkaJS(t *testing.T) {
	modules := install(t)
	traits := clienttest.Traits{UnorderedHeaders: true}
	clienttest.Run(t, traits, func(t *testing.T, addr string) clienttest.Client {
		return clienttest.Script(t, addr, "node", "kafkajs.js", modules)
	})
}

// install returns the folder that has the library.
func install(t *testing.T) string {
	clienttest.NeedCommand(t, "node", "npm")
	return clienttest.Install(t, "javascript", []string{"package.json", "package-lock.json"}, func(dir string) {
		clienttest.Command(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
}
