package kcat

import (
	"os"
	"os/exec"
	"testing"

	"github.com/iggykafka/gateway/clienttest"
)

// needKcat installs kcat with apt-get where the machine has it and the test may.
func needKcat(t *testing.T) {
	clienttest.Locked(t, "kcat", func() {
		if _, err := exec.LookPath("kcat"); err == nil {
			return
		}
		if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
			clienttest.Missing(t, "kcat, and no apt-get with root's rights to install it")
		}
		clienttest.Command(t, ".", "apt-get", "update", "-qq")
		clienttest.Command(t, ".", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "--yes", "--no-install-recommends", "kcat")
	})
}
