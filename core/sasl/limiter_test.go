package sasl_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// slow is a mechanism whose tokens take a second, and that counts them.
type slow struct{ running, most atomic.Int32 }

func (*slow) Name() string { return "SLOW" }

func (m *slow) Begin(who security.Requester) sasl.Exchange { return slowExchange{m, who} }

type slowExchange struct {
	m   *slow
	who security.Requester
}

func (e slowExchange) Next(ctx context.Context, _ []byte) ([]byte, *sasl.Login, error) {
	now := e.m.running.Add(1)
	defer e.m.running.Add(-1)
	e.m.most.Store(max(now, e.m.most.Load()))
	select {
	case <-time.After(time.Second):
		return nil, &sasl.Login{Principal: security.User("alice")}, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func slowly(t *testing.T, all, perAddress int) (*slow, *sasl.Sasl) {
	cfg := sasl.DefaultConfig()
	cfg.MaxLogins, cfg.MaxLoginsPerAddress = all, perAddress
	m := &slow{}
	s, err := sasl.New(cfg, []sasl.Mechanism{m}, nil, nil)
	require.NoError(t, err)
	return m, s
}

// So many logins are checked at once, and no more.
func TestLoginsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, sasls := slowly(t, 4, 2)
		var done sync.WaitGroup
		for i := range 20 {
			done.Go(func() {
				s := sasls.Session(security.Requester{Host: fmt.Sprintf("10.0.0.%d", i)}, nil)
				s.Handshake(1, "SLOW")
				require.NoError(t, s.Authenticate(t.Context(), nil).Err)
			})
		}
		began := time.Now()
		done.Wait()
		require.Equal(t, 5*time.Second, time.Since(began))
		require.EqualValues(t, 4, m.most.Load())
	})
}

// A thousand logins of one address leave room for those of others.
func TestOneAddressHoldsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, sasls := slowly(t, 4, 2)
		flood, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		for range 1000 {
			done.Go(func() {
				s := sasls.Session(security.Requester{Host: "10.0.0.7"}, nil)
				s.Handshake(1, "SLOW")
				s.Authenticate(flood, nil)
			})
		}
		synctest.Wait()
		began := time.Now()
		s := sasls.Session(security.Requester{Host: "10.0.0.8"}, nil)
		s.Handshake(1, "SLOW")
		require.NoError(t, s.Authenticate(t.Context(), nil).Err)
		require.Equal(t, time.Second, time.Since(began), "it did not wait")
		stop()
		done.Wait()
	})
}

// Who waits too long for its turn is sent away without an answer, and so is one whose
// check takes too long.
func TestTurnsThatDoNotCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, sasls := slowly(t, 1, 1)
		var done sync.WaitGroup
		var closed atomic.Int32
		for range 15 {
			done.Go(func() {
				s := sasls.Session(security.Requester{Host: "10.0.0.7"}, nil)
				s.Handshake(1, "SLOW")
				if a := s.Authenticate(t.Context(), nil); a.Err != nil {
					require.ErrorIs(t, a.Err, context.DeadlineExceeded)
					closed.Add(1)
				}
			})
		}
		began := time.Now()
		done.Wait()
		require.Equal(t, 10*time.Second, time.Since(began))
		require.GreaterOrEqual(t, closed.Load(), int32(5))
	})
}
