// Package python runs the scenarios with the three Kafka libraries of Python.
package python

import (
	"path/filepath"
	"testing"

	"github.com/iggykafka/gateway/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

func TestConfluent(t *testing.T) { run(t, "confluent.py", clienttest.Traits{}) }

func TestKafkaPython(t *testing.T) { run(t, "kafkapython.py", clienttest.Traits{}) }

func TestAioKafka(t *testing.T) { run(t, "aio.py", clienttest.Traits{}) }

func run(t *testing.T, script string, traits clienttest.Traits) {
	python := install(t)
	clienttest.Run(t, traits, func(t *testing.T, addr string) clienttest.Client {
		return clienttest.Script(t, addr, python, "-B", "-X", "faulthandler", script)
	})
}

// install returns a Python that has the libraries.
func install(t *testing.T) string {
	clienttest.NeedCommand(t, "python3")
	venv := clienttest.Install(t, "python", []string{"requirements.txt"}, func(dir string) {
		clienttest.Command(t, dir, "python3", "-m", "venv", "venv")
		clienttest.Command(t, dir, filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--only-binary=:all:", "--requirement", "requirements.txt")
	})
	return filepath.Join(venv, "venv", "bin", "python")
}
