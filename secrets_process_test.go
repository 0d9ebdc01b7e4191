package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// process is a gateway that runs as a program.
type process struct {
	cmd       *exec.Cmd
	log       *sink
	listeners map[string]string
	admin     string
}

var (
	readyLine = regexp.MustCompile(`(\S+) [A-Z_]+ (\S+:\d+)`)
	adminLine = regexp.MustCompile(`"url":"(http://[^"]+)"`)
)

// run starts the program and waits until it is ready.
func run(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), log: &sink{}, listeners: map[string]string{}}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "%s", p.log)
	for _, found := range readyLine.FindAllStringSubmatch(strings.ReplaceAll(line, ",", ""), -1) {
		p.listeners[found[1]] = found[2]
	}
	p.admin = adminLine.FindStringSubmatch(p.log.String())[1]
	return p
}

// stop ends the program in order, and returns all that it wrote.
func (p *process) stop(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.cmd.Wait(), "%s", p.log)
	return p.log.String()
}

// sink keeps what is written to it, or posted.
type sink struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// ServeHTTP takes what is posted; a collector may be told a password in the header,
// which is meant for it.
func (s *sink) ServeHTTP(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(s, r.Body) }

// maxPages bounds a crawl.
const maxPages = 300

// crawl returns every page that the admin listener has a link to, and those that it
// has none to.
func crawl(t *testing.T, base string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	waiting := []string{"/", "/metrics", "/livez", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"}
	link := regexp.MustCompile(`(?:href|src|hx-get)="(/[^"]*)"`)
	for len(waiting) > 0 && len(pages) < maxPages {
		path := waiting[0]
		waiting = waiting[1:]
		if _, seen := pages[path]; seen {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(ask)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		cancel()
		require.NoError(t, err)
		pages[path] = string(body)
		for _, found := range link.FindAllStringSubmatch(string(body), -1) {
			waiting = append(waiting, strings.ReplaceAll(found[1], "&amp;", "&"))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	require.Greater(t, len(pages), 8)
	return pages
}

// tokenKey returns a key to sign tokens with, and the set that the gateway is given.
func tokenKey(t *testing.T) (private *ecdsa.PrivateKey, set string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := jwkset.NewJWKFromKey(private.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "k"}})
	require.NoError(t, err)
	raw, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{public.Marshal()}})
	require.NoError(t, err)
	return private, string(raw)
}

// signed returns a token of alice.
func signed(t *testing.T, by *ecdsa.PrivateKey, lasts time.Duration) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"sub": "alice", "exp": time.Now().Add(lasts).Unix(), "iat": time.Now().Add(-2 * time.Hour).Unix(),
	})
	token.Header["kid"] = "k"
	text, err := token.SignedString(by)
	require.NoError(t, err)
	return text
}
