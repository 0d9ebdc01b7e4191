package ssl

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/internal/filewatch"
)

const (
	// settle is how long files must be left alone before they are read again: who
	// replaces a certificate replaces its key, too.
	settle = 250 * time.Millisecond
	// remindEvery is how often the log tells of a certificate that is about to
	// expire.
	remindEvery = 24 * time.Hour
)

// source holds what files hold now: a certificate with its key, or the authorities of
// clients. Listeners that have the same ones share it, so that a change is told once.
type source struct {
	files
	served  string // the certificate of the listeners, by which metrics go
	current atomic.Pointer[material]

	log     *zap.Logger
	metrics *metrics
	warning time.Duration // before the end of the certificate

	users int // listeners; guarded by Protocols
	watch *filewatch.Watch

	failing  bool     // the files cannot be used as they are
	refused  [32]byte // the sum of what was told of as unusable
	broken   string   // why the files could not be read, as it was told
	reminded time.Time
}

// openSource begins to watch the files, and reads them.
func openSource(served string, f files, c Config, log *zap.Logger, m *metrics) (*source, error) {
	log = log.With(zap.String("certificate", served))
	if f.clientCA.value != "" {
		log = log.With(zap.String("client_ca", f.clientCA.value))
	}
	s := &source{files: f, served: served, log: log, metrics: m, warning: c.ExpiryWarning,
		watch: filewatch.New(f.certificate.value, f.key.value, f.clientCA.value)}
	if err := s.start(time.Now()); err != nil {
		s.watch.Stop()
		return nil, err
	}
	s.watch.Start(settle, s.log, s.look)
	return s, nil
}

// start takes what the files hold at first.
func (s *source) start(now time.Time) error {
	content, err := s.read()
	if err != nil {
		return err
	}
	first, err := s.parse(content, now)
	if err != nil {
		return err
	}
	s.use(first)
	s.remind(now)
	return nil
}

func (s *source) close() {
	s.watch.Stop()
	s.metrics.forget(s)
}

// look sees what time and others have done to the files.
func (s *source) look(now time.Time) {
	s.reload(now)
	s.remind(now)
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
		if s.failing {
			s.failing = false
			s.metrics.failed(s, false)
			s.log.Info("the TLS files can be used again, they hold what is in use")
		}
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
	s.failing, s.refused, s.reminded = false, [32]byte{}, time.Time{}
	s.use(next)
	s.metrics.reloaded(s, true)
	expires := zap.Skip()
	if !next.ends.IsZero() {
		expires = zap.Time("expires", next.ends)
	}
	s.log.Info("new TLS files are in use", expires)
}

func (s *source) refuse(why error) {
	s.failing = true
	s.metrics.failed(s, true)
	s.metrics.reloaded(s, false)
	s.log.Warn("changed TLS files cannot be used, those before stay in use", zap.Error(why))
}

func (s *source) use(m *material) {
	s.current.Store(m)
	s.metrics.inUse(s, m.ends)
	for _, warning := range m.warnings {
		s.log.Warn(warning)
	}
}

// remind warns of a certificate that ends soon.
func (s *source) remind(now time.Time) {
	ends := s.current.Load().ends
	if left := ends.Sub(now); ends.IsZero() || left > s.warning || now.Sub(s.reminded) < remindEvery {
		return
	}
	s.reminded = now
	if now.After(ends) {
		s.log.Warn("the TLS certificate has expired: clients refuse it; replace the file", zap.Time("expired", ends))
		return
	}
	s.log.Warn("the TLS certificate expires soon; replace the file", zap.Time("expires", ends))
}
