package doctor

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

const (
	// spareFiles is what a gateway needs beside a file for each connection:
	// segments, the store's tables, the connections to a backend.
	spareFiles = 4096
	// skew is how far two clocks may be apart; HTTP tells seconds only.
	skew = 3 * time.Second
)

// storage looks at settings that lose data.
func (s Setup) storage(ctx context.Context) (findings []Finding) {
	const check = "storage"
	switch s.Storage {
	case "memory":
		findings = append(findings, found(check, Warn, "everything is kept in memory: it is gone when the gateway ends",
			"set storage.backend to embedded or iggy for data that matters"))
	case "embedded":
		if s.Sync {
			findings = append(findings, ok(check, "acknowledged records survive a crash, and a loss of power"))
		} else {
			findings = append(findings, found(check, Note, "acknowledged records survive a crash of the gateway, but not surely a loss of power (as with a single Kafka broker)",
				"set storage.sync to true where that matters; producing gets slower"))
		}
	}
	if s.Backend != nil {
		findings = append(findings, s.Backend(ctx)...)
	}
	if s.Forgets {
		findings = append(findings, found("groups", Note, "a group is forgotten with its last member, though not what it committed: tools do not list stopped groups",
			"set groups.coordinator to durable to have them kept as Kafka does"))
	}
	return findings
}

// machine looks at the limits of this machine.
func (s Setup) machine() (findings []Finding) {
	if files, known := openFiles(); known {
		if need := uint64(s.MaxConnections) + spareFiles; files < need {
			findings = append(findings, found("open files", Warn,
				fmt.Sprintf("a process here may open %d files, but max_connections allows %d connections", files, s.MaxConnections),
				fmt.Sprintf("raise the limit to %d (ulimit -n, LimitNOFILE=), or lower max_connections", need)))
		} else {
			findings = append(findings, ok("open files", "%d allowed, enough for %d connections", files, s.MaxConnections))
		}
	}
	if memory, known := memoryOf("/"); known && s.Memory > 0 {
		text := fmt.Sprintf("the budgets allow %s, and there are %s", humanize.IBytes(uint64(s.Memory)), humanize.IBytes(memory))
		if uint64(s.Memory) > memory/4*3 {
			findings = append(findings, found("memory", Warn, text, "lower memory_budget and groups.memory_budget, or give the gateway more memory"))
		} else {
			findings = append(findings, ok("memory", "%s", text))
		}
	}
	return findings
}

// memoryOf returns the memory that a process may use: the machine's, or what its
// control group leaves of it. root is where the file system begins.
func memoryOf(root string) (bytes uint64, known bool) {
	info, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(info)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kb, err := strconv.ParseUint(fields[1], 10, 50)
			bytes, known = kb<<10, err == nil
		}
	}
	limit, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup/memory.max"))
	if err != nil {
		return bytes, known
	}
	if n, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64); err == nil && (!known || n < bytes) {
		return n, true
	}
	return bytes, known
}

// clock compares this machine's clock with the gateway's, as its admin listener
// tells it.
func (s Setup) clock(ctx context.Context) []Finding {
	const check = "clock"
	if s.Admin == "" {
		return []Finding{found(check, Note, "there is no admin listener to ask for the gateway's time", "")}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+reachable(s.Admin)+"/livez", nil)
	if err != nil {
		return []Finding{found(check, Note, err.Error(), "")}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(ask)
	if err != nil {
		return []Finding{found(check, Note, "the admin listener does not answer, so clocks cannot be compared: "+err.Error(), "")}
	}
	defer answer.Body.Close()
	there, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return []Finding{found(check, Note, "the admin listener does not tell its time", "")}
	}
	if apart := time.Since(there); apart.Abs() > skew {
		return []Finding{found(check, Warn, fmt.Sprintf("this machine's clock and the gateway's are %s apart", apart.Abs().Round(time.Second)),
			"set both by NTP: retention, timestamps and expiry follow the gateway's")}
	}
	return []Finding{ok(check, "this machine's clock and the gateway's agree")}
}
