package doctor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStorage(t *testing.T) {
	t.Parallel()
	one := func(s Setup) Finding { return s.storage(t.Context())[0] }
	require.Equal(t, Warn, one(Setup{Storage: "memory"}).Status)
	require.Equal(t, Note, one(Setup{Storage: "embedded"}).Status)
	require.Equal(t, OK, one(Setup{Storage: "embedded", Sync: true}).Status)
	own := found("storage", Fail, "it loses data", "change it")
	require.Equal(t, own, one(Setup{Storage: "iggy", Backend: func(context.Context) []Finding { return []Finding{own} }}))
	require.Equal(t, "groups", Setup{Forgets: true}.storage(t.Context())[0].Check)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := Report(Setup{MaxConnections: 1 << 40, Memory: 1 << 60}.machine())
	for _, f := range r {
		require.Equal(t, Warn, f.Status, "%v", f)
	}
}

func TestMemoryOfAControlGroup(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	_, known := memoryOf(root)
	require.False(t, known)
	write("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 5 kB\n")
	bytes, known := memoryOf(root)
	require.True(t, known)
	require.EqualValues(t, 1<<20, bytes)
	write("sys/fs/cgroup/memory.max", "max\n")
	bytes, _ = memoryOf(root)
	require.EqualValues(t, 1<<20, bytes)
	write("sys/fs/cgroup/memory.max", "4096\n")
	bytes, _ = memoryOf(root)
	require.EqualValues(t, 4096, bytes)
}

func TestClock(t *testing.T) {
	t.Parallel()
	apart := time.Duration(0)
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(apart).UTC().Format(http.TimeFormat))
	}))
	defer admin.Close()
	s := Setup{Admin: strings.TrimPrefix(admin.URL, "http://")}
	require.Equal(t, OK, s.clock(t.Context())[0].Status)
	_, port, _ := strings.Cut(s.Admin, ":")
	everywhere := Setup{Listeners: []Listener{{Listen: "127.0.0.1:9092"}}, Admin: "0.0.0.0:" + port}
	require.Equal(t, OK, everywhere.clock(t.Context())[0].Status, "it is reached from here")
	require.Equal(t, Warn, everywhere.exposure()[0].Status, "and from everywhere else")
	apart = time.Minute
	f := s.clock(t.Context())[0]
	require.Equal(t, Warn, f.Status)
	require.Regexp(t, "are (59s|1m0s|1m1s) apart", f.Text)
	require.Equal(t, Note, Setup{}.clock(t.Context())[0].Status)
	require.Equal(t, Note, Setup{Admin: "127.0.0.1:1"}.clock(t.Context())[0].Status)
}
