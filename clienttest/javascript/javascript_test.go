// Package javascript runs the scenarios with kafkajs.
package javascript

import (
	"testing"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

func TestKafkaJS(t *testing.T) {
	clienttest.NeedCommand(t, "node", "npm")
	modules := clienttest.Install(t, "javascript", []string{"package.json", "package-lock.json"}, func(dir string) {
		clienttest.Command(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
	traits := clienttest.Traits{UnorderedHeaders: true}
	clienttest.Run(t, traits, func(t *testing.T, addr string) clienttest.Client {
		return clienttest.Script(t, addr, "node", "kafkajs.js", modules)
	})
}
