package outcome

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type stored interface{ backend.Entries }

// store knows what became of changes when err is nil.
type store struct {
	stored
	err   atomic.Pointer[error]
	asked atomic.Int32
	hold  chan struct{} // nil, or an attempt waits for it
}

func (s *store) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	if kind != "k" || len(changes) > 0 {
		return errors.New("not asked for that")
	}
	s.asked.Add(1)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *store) fail(err error) { s.err.Store(&err) }

func reader(s *store) (r *Reader, loads *atomic.Int32) {
	loads = new(atomic.Int32)
	return New(s, "k", func(context.Context) error { loads.Add(1); return nil }), loads
}

// Only a change that may have been stored is worth a look.
func TestWhatIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, loads := reader(&store{})
		for _, err := range []error{nil, backend.ErrUnavailable, backend.ErrTooLarge, backend.ErrStorage, errors.New("odd")} {
			r.Ended(err)
		}
		synctest.Wait()
		require.Zero(t, loads.Load())
		for i, err := range []error{backend.ErrOutcomeUnknown, context.Canceled, fmt.Errorf("x: %w", context.DeadlineExceeded)} {
			r.Ended(err)
			synctest.Wait()
			require.EqualValues(t, i+1, loads.Load())
		}
		r.Close()
		r.Ended(backend.ErrOutcomeUnknown)
		synctest.Wait()
		require.EqualValues(t, 3, loads.Load(), "after its end")
	})
}

// While the backend does not know, it is asked again, each second and by one only.
func TestAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		s.fail(backend.ErrUnavailable)
		r, loads := reader(s)
		defer r.Close()
		for range 10 {
			r.Ended(backend.ErrOutcomeUnknown)
		}
		time.Sleep(10*again + again/2)
		synctest.Wait()
		require.EqualValues(t, 11, s.asked.Load())
		require.Zero(t, loads.Load())
		s.err.Store(nil)
		time.Sleep(again)
		require.EqualValues(t, 1, loads.Load())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 12, s.asked.Load())
	})
}

// A load that fails is tried again, and a change that ends during an attempt has one of
// its own.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{hold: make(chan struct{})}
		failed := false
		loads := 0
		r := New(s, "k", func(context.Context) error {
			loads++
			if !failed {
				failed = true
				return backend.ErrUnavailable
			}
			return nil
		})
		r.Ended(backend.ErrOutcomeUnknown)
		synctest.Wait()
		r.Ended(backend.ErrOutcomeUnknown)
		close(s.hold)
		time.Sleep(time.Hour)
		r.Close()
		require.EqualValues(t, 2, s.asked.Load())
		require.Equal(t, 2, loads)
	})
}

// An attempt that hangs ends with the reader, and by itself.
func TestEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{hold: make(chan struct{})}
		r, loads := reader(s)
		r.Ended(backend.ErrOutcomeUnknown)
		time.Sleep(patience + again + again/2)
		require.EqualValues(t, 2, s.asked.Load())
		r.Close()
		require.Zero(t, loads.Load())
	})
}
