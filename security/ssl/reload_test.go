package ssl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/internal/filewatch"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

func watched(t *testing.T) (*zap.Logger, *observer.ObservedLogs) {
	t.Helper()
	core, lines := observer.New(zapcore.InfoLevel)
	return zap.New(core), lines
}

const patience = 30 * time.Second

// serial returns the serial number of the certificate that new clients see.
func serial(t *testing.T, s site, on *transport) string {
	t.Helper()
	_, state, err := meet(t, on, s.client(t))
	require.NoError(t, err)
	return state.PeerCertificates[0].SerialNumber.String()
}

func TestNewFilesAreUsed(t *testing.T) {
	t.Parallel()
	log, lines := watched(t)
	s := newSite(t, "none")
	p, on := s.open(t, log)
	before := serial(t, s, on)
	next := s.ca.Issue(t, ssltest.Server(), ssltest.Until(time.Now().Add(48*time.Hour)))
	next.Write(t, s.folder)
	require.Eventually(t, func() bool { return serial(t, s, on) != before }, patience, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		return lines.FilterMessage("new TLS files are in use").Len() == 1 && lines.FilterMessage("the TLS certificate expires soon; replace the file").Len() == 1
	}, patience, 10*time.Millisecond)
	ends := testutil.ToFloat64(p.metrics.expires.WithLabelValues(s.cfg.Certificate))
	require.InDelta(t, float64(time.Now().Add(48*time.Hour).Unix()), ends, 60)
}

// Kubernetes swaps a link that a secret's files are reached by.
func TestALinkIsSwapped(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none")
	root := t.TempDir()
	for _, name := range []string{"one", "two"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, name), 0o755))
		s.ca.Issue(t, ssltest.Server()).Write(t, filepath.Join(root, name))
	}
	require.NoError(t, os.Symlink("one", filepath.Join(root, "..data")))
	for _, name := range []string{"cert.pem", "key.pem"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(root, name)))
	}
	s.cfg.Certificate, s.cfg.Key = filepath.Join(root, "cert.pem"), filepath.Join(root, "key.pem")
	_, on := s.open(t, zap.NewNop())
	before := serial(t, s, on)
	require.NoError(t, os.Symlink("two", filepath.Join(root, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(root, "..data_tmp"), filepath.Join(root, "..data")))
	require.Eventually(t, func() bool { return serial(t, s, on) != before }, patience, 50*time.Millisecond)
}

func TestBrokenFilesChangeNothing(t *testing.T) {
	t.Parallel()
	log, lines := watched(t)
	s := newSite(t, "none")
	p, on := s.open(t, log)
	before := serial(t, s, on)
	good, err := os.ReadFile(s.cfg.Certificate)
	require.NoError(t, err)
	told := 0
	for _, broken := range []func(){
		func() { require.NoError(t, os.WriteFile(s.cfg.Certificate, []byte("no certificate"), 0o600)) },
		func() { require.NoError(t, os.WriteFile(s.cfg.Certificate, good[:len(good)/2], 0o600)) },
		func() {
			require.NoError(t, os.WriteFile(s.cfg.Certificate, s.ca.Issue(t, ssltest.Server()).Certificate, 0o600))
		},
		func() { require.NoError(t, os.Remove(s.cfg.Certificate)) },
	} {
		broken()
		told++
		require.Eventually(t, func() bool { return lines.Len() == told }, patience, 10*time.Millisecond, "%v", lines.All())
		require.Equal(t, "changed TLS files cannot be used, those before stay in use", lines.All()[told-1].Message)
		require.Equal(t, before, serial(t, s, on))
		require.InDelta(t, 1, testutil.ToFloat64(p.metrics.reloadFailing.WithLabelValues(s.cfg.Certificate)), 0)
	}
	require.NoError(t, os.WriteFile(s.cfg.Certificate, good, 0o600))
	require.Eventually(t, func() bool {
		return testutil.ToFloat64(p.metrics.reloadFailing.WithLabelValues(s.cfg.Certificate)) == 0
	}, patience, 10*time.Millisecond)
	require.Equal(t, before, serial(t, s, on))
	require.Equal(t, told+1, lines.Len())
	require.Equal(t, "the TLS files can be used again, they hold what is in use", lines.All()[told].Message)
}

// Listeners with one certificate, of which one asks clients for theirs, are told of
// together: a change has one line and counts once, and authorities that cannot be used are
// not forgotten because the certificate can.
func TestOneChangeOfSeveralListeners(t *testing.T) {
	t.Parallel()
	log, lines := watched(t)
	s := newSite(t, "none")
	p, first := s.open(t, log)
	for _, l := range []server.ListenerConfig{
		{ClientAuth: "required"},
		{ClientAuth: "requested", Certificate: s.cfg.Certificate, Key: s.cfg.Key, ClientCA: s.cfg.ClientCA},
	} {
		on, err := p.Open(l)
		require.NoError(t, err)
		defer on.Close()
	}
	reloads := func(result string) float64 {
		return testutil.ToFloat64(p.metrics.reloads.WithLabelValues(s.cfg.Certificate, result))
	}
	failing := func() float64 { return testutil.ToFloat64(p.metrics.reloadFailing.WithLabelValues(s.cfg.Certificate)) }
	require.Equal(t, 2, testutil.CollectAndCount(p.metrics.reloads), "before there was any")
	before := serial(t, s, first)
	s.ca.Issue(t, ssltest.Server(), ssltest.Until(time.Now().Add(48*time.Hour))).Write(t, s.folder)
	// Whoever else watches the files has seen them by the second change.
	require.Eventually(t, func() bool { return serial(t, s, first) != before && reloads("ok") > 0 }, patience, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(s.cfg.ClientCA, []byte("nobody"), 0o600))
	require.Eventually(t, func() bool { return reloads("failed") > 0 }, patience, 10*time.Millisecond)
	for _, all := range p.sources {
		all.watch.Stop() // and look no more by themselves
		all.look(time.Now())
	}
	require.InDelta(t, 1, failing(), 0)
	require.InDelta(t, 1, reloads("ok"), 0)
	require.InDelta(t, 1, reloads("failed"), 0)
	require.Equal(t, 1, lines.FilterMessage("new TLS files are in use").Len())
	require.Equal(t, 1, lines.FilterMessage("the TLS certificate expires soon; replace the file").Len())
	broken := lines.FilterMessage("changed TLS files cannot be used, those before stay in use").All()
	require.Len(t, broken, 1)
	require.Equal(t, s.cfg.ClientCA, broken[0].ContextMap()["client_ca"])
	require.Equal(t, s.cfg.Certificate, broken[0].ContextMap()["certificate"])
}

// A connection goes on with the certificate that it began with.
func TestOpenConnectionsStay(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none")
	_, on := s.open(t, zap.NewNop())
	nc, client := established(t, on, s.client(t))
	before := serial(t, s, on)
	s.ca.Issue(t, ssltest.Server()).Write(t, s.folder)
	require.Eventually(t, func() bool { return serial(t, s, on) != before }, patience, 50*time.Millisecond)
	_, err := nc.Write([]byte("x"))
	require.NoError(t, err)
	n, err := client.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// Without being told of changes the files are looked at once a minute, and what
// ends soon is told of once a day.
func TestPoll(t *testing.T) {
	t.Parallel()
	s := newSite(t, "none") // outside of the bubble: its clock has another time
	next := s.ca.Issue(t, ssltest.Server())
	synctest.Test(t, func(t *testing.T) {
		log, lines := watched(t)
		m, err := newMetrics(nil)
		require.NoError(t, err)
		f := files{certificate: choice{"tls.certificate", s.cfg.Certificate}, key: choice{"tls.key", s.cfg.Key}}
		src := &source{files: f, served: s.cfg.Certificate, log: log, metrics: m, warning: 14 * 24 * time.Hour, watch: &filewatch.Watch{}}
		require.NoError(t, src.start(time.Now()))
		src.watch.Start(settle, log, src.look)
		defer src.close()
		next.Write(t, s.folder)
		time.Sleep(filewatch.PollEvery - time.Second)
		synctest.Wait()
		require.Zero(t, lines.FilterMessage("new TLS files are in use").Len())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, lines.FilterMessage("new TLS files are in use").Len())
		soon := *src.current.Load()
		soon.ends = time.Now().Add(src.warning + 12*time.Hour)
		src.current.Store(&soon)
		reminders := func() int { return lines.FilterMessage("the TLS certificate expires soon; replace the file").Len() }
		synctest.Wait()
		require.Zero(t, reminders())
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Equal(t, 1, reminders())
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		require.Equal(t, 3, reminders())
		over := soon
		over.ends = time.Now()
		src.current.Store(&over)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.NotZero(t, lines.FilterMessage("the TLS certificate has expired: clients refuse it; replace the file").Len())
	})
}

// What works, but not well, is told at the start.
func TestWarnings(t *testing.T) {
	t.Parallel()
	log, lines := watched(t)
	ca := ssltest.NewAuthority(t)
	folder := shared(t)
	f := ca.Issue(t, ssltest.Client("x"), ssltest.Until(time.Now().Add(time.Hour))).Write(t, folder)
	require.NoError(t, os.Chmod(f.Key, 0o644))
	cfg := DefaultConfig()
	cfg.Certificate, cfg.Key = f.Certificate, f.Key
	p, err := New(cfg, log, nil)
	require.NoError(t, err)
	on, err := p.Open(server.ListenerConfig{})
	require.NoError(t, err)
	require.NoError(t, on.Close())
	var told []string
	for _, line := range lines.All() {
		told = append(told, line.Message)
	}
	require.Equal(t, []string{
		f.Certificate + " names no host (subjectAltName); clients that look at names refuse it",
		f.Certificate + " is not for servers (extendedKeyUsage); clients refuse it",
		f.Key + " holds a private key that every user of this machine can read; take that away (chmod o-r)",
		"the TLS certificate expires soon; replace the file",
	}, told)
}

// Authorities of clients that have expired let nobody in, which is told.
func TestExpiredAuthority(t *testing.T) {
	t.Parallel()
	log, lines := watched(t)
	ca := ssltest.NewAuthority(t)
	cfg := DefaultConfig()
	f := ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	cfg.Certificate, cfg.Key = f.Certificate, f.Key
	cfg.ClientAuth = "required"
	cfg.ClientCA = ca.Issue(t, ssltest.Client("old"), ssltest.Until(time.Now().Add(-time.Hour))).Write(t, t.TempDir()).Certificate
	p, err := New(cfg, log, nil)
	require.NoError(t, err)
	on, err := p.Open(server.ListenerConfig{})
	require.NoError(t, err)
	require.NoError(t, on.Close())
	require.Len(t, lines.All(), 1)
	require.Regexp(t, "^"+cfg.ClientCA+": 1 of 1 authorities of clients have expired, the first is CN=old, at .*; clients with their certificates are refused$", lines.All()[0].Message)
}

// shared returns a folder that every user of the machine can get to.
func shared(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
	require.NoError(t, os.Chmod(folder, 0o755))
	return folder
}

// Who can get at the files is told, if they are in a folder that one gets to.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	const (
		readKey   = "/key.pem holds a private key that every user of this machine can read; take that away (chmod o-r)"
		changeKey = "/key.pem holds a private key that every user of this machine can change; take that away, of the file and its folder (chmod o-w)"
		changeCA  = "/ca.pem says whose certificates are good, and every user of this machine can change it; take that away, of the file and its folder (chmod o-w)"
	)
	for name, test := range map[string]struct {
		folder, key, ca os.FileMode
		want            []string
	}{
		"as they should be":     {0o755, 0o600, 0o644, nil},
		"a key that is read":    {0o755, 0o604, 0o644, []string{readKey}},
		"a key that is changed": {0o755, 0o606, 0o644, []string{changeKey}},
		"other authorities":     {0o755, 0o600, 0o646, []string{changeCA}},
		"other files":           {0o757, 0o600, 0o644, []string{changeKey, changeCA}},
		"nobody gets there":     {0o750, 0o666, 0o666, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, lines := watched(t)
			s := newSite(t, "requested")
			folder := shared(t)
			f := s.ca.Issue(t, ssltest.Server()).Write(t, folder)
			s.cfg.Certificate, s.cfg.Key, s.cfg.ClientCA = f.Certificate, f.Key, s.ca.Write(t, folder)
			require.NoError(t, os.Chmod(f.Key, test.key))
			require.NoError(t, os.Chmod(s.cfg.ClientCA, test.ca))
			require.NoError(t, os.Chmod(folder, test.folder))
			s.open(t, log)
			var told []string
			for _, line := range lines.All() {
				told = append(told, strings.TrimPrefix(line.Message, folder))
			}
			require.Equal(t, test.want, told)
		})
	}
}
