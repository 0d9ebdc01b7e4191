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

// source holds what the files of one or more listeners hold now.
type source struct {
	files
	current atomic.Pointer[material]

	log     *zap.Logger
	metrics *metrics
	warning time.Duration // before the end of the certificate

	users int // listeners; guarded by Protocols
	watch *filewatch.Watch

	refused  [32]byte // the sum of what was told of as unusable
	broken   string   // why the files could not be read, as it was told
	reminded time.Time
}

// openSource begins to watch the files, and reads them.
func openSource(f files, c Config, log *zap.Logger, m *metrics) (*source, error) {
	s := &source{files: f, log: log.With(zap.String("certificate", f.certificate.value)), metrics: m, warning: c.ExpiryWarning,
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
	s.metrics.forget(s.certificate.value)
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
