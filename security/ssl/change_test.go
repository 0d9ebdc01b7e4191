package ssl

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// Many handshakes at once while the files change: each is under one certificate or
// the other, and none fails for it.
func TestHandshakesWhileFilesChange(t *testing.T) {
	t.Parallel()
	s := newSite(t, "requested")
	_, on := s.open(t, zap.NewNop())
	client := s.client(t)
	var all sync.WaitGroup
	errs := make(chan error, 8)
	stop := make(chan struct{})
	for range cap(errs) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := meet(t, on, client); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for range 3 {
		before := on.own.current.Load()
		s.renew(t)
		require.Eventually(t, func() bool { return on.own.current.Load() != before }, patience, 10*time.Millisecond)
	}
	close(stop)
	all.Wait()
	close(errs)
	require.NoError(t, <-errs)
}
