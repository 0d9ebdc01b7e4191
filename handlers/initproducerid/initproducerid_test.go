package initproducerid_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/backendtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/initproducerid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) { handlertest.Conform(t, initproducerid.New(nil)) }
func TestReadme(t *testing.T)  { handlertest.Readme(t, initproducerid.New(nil), "README.md") }
func Fuzz(f *testing.F)        { handlertest.Fuzz(f, initproducerid.New(nil)) }

func TestScenarios(t *testing.T) {
	handlertest.Scenarios(t, "testdata", func(*testing.T) handlertest.Env {
		return handlertest.Env{Handler: initproducerid.New(new(counter))}
	})
}

// counter hands out 1, 2, 3…
type counter struct{ last int64 }

func (c *counter) NewProducerID(context.Context) (int64, error) {
	c.last++
	return c.last, nil
}

// A body that does not decode is answered without an id.
func TestBadRequest(t *testing.T) {
	h := initproducerid.New(nil)
	for version := int16(0); version <= 5; version++ {
		req := h.NewRequest()
		req.SetVersion(version)
		back, err := handlertest.RoundTrip(h.Spec().BadRequest.Answer(req), version)
		require.NoError(t, err)
		resp := back.(*kmsg.InitProducerIDResponse)
		require.Equal(t, kerr.InvalidRequest.Code, resp.ErrorCode)
		require.Equal(t, int64(-1), resp.ProducerID)
		require.Equal(t, int16(-1), resp.ProducerEpoch)
	}
}

// Every error answer can be read at every version, whatever failed.
func TestFailingBackend(t *testing.T) {
	for err, code := range map[error]int16{
		backend.ErrUnavailable: 14, backend.ErrOutcomeUnknown: 14, backend.ErrStorage: 14, context.Canceled: 14, errors.New("odd"): -1,
	} {
		for version := int16(0); version <= 5; version++ {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version = version
			resp, herr := initproducerid.New(backendtest.Failing(nil, err)).Handle(context.Background(), handler.Call{}, req)
			require.NoError(t, herr)
			back, herr := handlertest.RoundTrip(resp, version)
			require.NoError(t, herr)
			got := back.(*kmsg.InitProducerIDResponse)
			require.Equal(t, []int64{int64(code), -1, -1}, []int64{int64(got.ErrorCode), got.ProducerID, int64(got.ProducerEpoch)})
		}
	}
}
