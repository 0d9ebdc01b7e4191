package embedded

import (
	"os"
	"strings"
)

// bootID names this run of the operating system, or is "" where the system has
// no such name.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
