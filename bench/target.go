package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/iggykafka/gateway/app/cli"
)

// target is one server under load.
type target struct {
	name   string // "A" or "B"
	addr   string
	shown  string // addr as it was given
	access access
	start  string      // command that starts it, for the measurements startup and kept
	pid    int         // 0 when its process is not found on this machine
	iggy   *iggyServer // set when it is an Iggy server, under its own SDK
	scrape string      // URL of metrics that are read meanwhile; "": none
}

// find looks for the process that listens on the target's port, by Linux'
// /proc. Elsewhere pid stays 0 and nothing about the process is measured.
func (t *target) find() {
	addr := t.addr
	if t.iggy != nil {
		addr = t.iggy.addr
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return
	}
	t.pid = pidOf(listeningInodes(n))
}

// listeningInodes returns the socket inodes that listen on a TCP port.
func listeningInodes(port int) map[string]bool {
	const listening = "0A"
	out := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			col := strings.Fields(s.Text())
			if len(col) > 9 && col[3] == listening && strings.HasSuffix(col[1], fmt.Sprintf(":%04X", port)) {
				out["socket:["+col[9]+"]"] = true
			}
		}
		f.Close()
	}
	return out
}

func pidOf(inodes map[string]bool) int {
	if len(inodes) == 0 {
		return 0
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if link, err := os.Readlink(fd); err == nil && inodes[link] {
			pid, _ := strconv.Atoi(strings.Split(fd, "/")[2])
			return pid
		}
	}
	return 0
}

// cpu returns the CPU time that the server has used so far.
func (t *target) cpu() time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.pid))
	if err != nil {
		return 0
	}
	// The second field is the command in parentheses and may hold spaces.
	_, rest, _ := strings.Cut(string(raw), ") ")
	col := strings.Fields(rest)
	if len(col) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(col[11], 10, 64)
	sys, _ := strconv.ParseInt(col[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	return time.Duration(user+sys) * tick
}

// resident returns the server's resident memory in bytes.
func (t *target) resident() int64 { return t.status("VmRSS:") }

// status returns a size in bytes of those that /proc tells of the server.
func (t *target) status(field string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if kb, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseInt(strings.Fields(kb)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// newTarget reads an address: host:port of a Kafka server, with its protocol before
// it as in sasl_ssl://host:port, or iggy://….
func newTarget(name, addr, start string, login cli.Connection) (*target, error) {
	t := &target{name: name, addr: addr, shown: addr, start: start}
	var err error
	if isIggy(addr) {
		t.iggy, err = parseIggy(addr)
		return t, err
	}
	t.addr, t.access, err = newAccess(addr, login)
	return t, err
}
