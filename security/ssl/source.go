package ssl

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
)

const (
	// settle is how long files must be left alone before they are read again: who
	// replaces a certificate replaces its key, too.
	settle = 250 * time.Millisecond
	// pollEvery is how often files are looked at without being told of a change,
	// which some file systems never tell of.
	pollEvery = time.Minute
	// remindEvery is how often the log tells of a certificate that is about to
	// expire.
	remindEvery = 24 * time.Hour
)

// source holds what the files of one or more listeners hold now.
type source struct {
	files
	current atomic.Pointer[material]

	log     *zap.Logger
	metrics *metrics
	warning time.Duration // before the end of the certificate

	users   int // listeners; guarded by Protocols
	cancel  context.CancelFunc
	watcher *fsnotify.Watcher // nil where there is none
	running sync.WaitGroup

	refused  [32]byte // the sum of what was told of as unusable
	broken   string   // why the files could not be read, as it was told
	reminded time.Time
}

// openSource reads the files, and begins to watch them.
func openSource(f files, c Config, log *zap.Logger, m *metrics) (*source, error) {
	content, err := f.read()
	if err != nil {
		return nil, err
	}
	first, err := f.parse(content, time.Now())
	if err != nil {
		return nil, err
	}
	s := &source{files: f, log: log.With(zap.String("certificate", f.certificate.value)), metrics: m, warning: c.ExpiryWarning}
	s.use(first)
	s.remind(time.Now())
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.watcher = s.newWatcher()
	s.running.Go(func() { s.watch(ctx) })
	return s, nil
}

func (s *source) close() error {
	s.cancel()
	s.running.Wait()
	s.metrics.forget(s.certificate.value)
	if s.watcher != nil {
		return s.watcher.Close()
	}
	return nil
}

// newWatcher watches the folders of the files, not the files: what replaces one is
// another file, or a link, as Kubernetes swaps one above all of a secret's.
func (s *source) newWatcher() *fsnotify.Watcher {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		for _, folder := range s.folders() {
			if err = w.Add(folder); err != nil {
				w.Close()
				break
			}
		}
	}
	if err != nil {
		s.log.Warn("changes of TLS files are seen late: they cannot be watched", zap.Duration("every", pollEvery), zap.Error(err))
		return nil
	}
	return w
}

func (s *source) folders() (folders []string) {
	for _, c := range []choice{s.certificate, s.key, s.clientCA} {
		if folder := filepath.Dir(c.value); c.value != "" && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// watch reads the files again when they have changed, until ctx ends.
func (s *source) watch(ctx context.Context) {
	var events chan fsnotify.Event
	var errs chan error
	if s.watcher != nil {
		events, errs = s.watcher.Events, s.watcher.Errors
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	changed := time.NewTimer(time.Hour)
	changed.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			changed.Reset(settle)
		case <-errs: // such as too many events at once
			changed.Reset(settle)
		case <-changed.C:
			s.reload(time.Now())
		case now := <-poll.C:
			s.reload(now)
			s.remind(now)
		}
	}
}

// reload takes what the files hold now, if it is another thing and can be used.
func (s *source) reload(now time.Time) {
	content, err := s.read()
	if err != nil {
		if s.broken != err.Error() {
			s.broken = err.Error()
			s.refuse(err)
		}
		return
	}
	s.broken = ""
	sum := content.sum()
	switch sum {
	case s.current.Load().sum:
		s.refused = [32]byte{}
		s.metrics.failed(s.certificate.value, false)
		return
	case s.refused:
		return // told already
	}
	next, err := s.parse(content, now)
	if err != nil {
		s.refused = sum
		s.refuse(err)
		return
	}
	s.refused, s.reminded = [32]byte{}, time.Time{}
	s.use(next)
	s.metrics.reloads.WithLabelValues(s.certificate.value, "ok").Inc()
	s.log.Info("new TLS files are in use", zap.Time("expires", next.ends))
	s.remind(now)
}

func (s *source) refuse(why error) {
	s.metrics.failed(s.certificate.value, true)
	s.metrics.reloads.WithLabelValues(s.certificate.value, "failed").Inc()
	s.log.Warn("changed TLS files cannot be used, those before stay in use", zap.Error(why))
}

func (s *source) use(m *material) {
	s.current.Store(m)
	s.metrics.inUse(s.certificate.value, m.ends)
	for _, warning := range m.warnings {
		s.log.Warn(warning)
	}
}

// remind warns of a certificate that ends soon.
func (s *source) remind(now time.Time) {
	ends := s.current.Load().ends
	if left := ends.Sub(now); left > s.warning || now.Sub(s.reminded) < remindEvery {
		return
	}
	s.reminded = now
	if now.After(ends) {
		s.log.Warn("the TLS certificate has expired: clients refuse it; replace the file", zap.Time("expired", ends))
		return
	}
	s.log.Warn("the TLS certificate expires soon; replace the file", zap.Time("expires", ends))
}
