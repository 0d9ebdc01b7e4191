package console_test

import (
	"context"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/core/backend"
)

// number is how many topics there are.
var number = regexp.MustCompile(`<strong>\d+</strong> <span>topics`)

// silent is a store whose server has stopped to answer, and that does not know yet.
type silent struct{ console.Store }

func (silent) LogDir(ctx context.Context) (backend.LogDir, error) {
	<-ctx.Done()
	return backend.LogDir{}, ctx.Err()
}

// The overview does not wait for long, and shows what is known without an answer.
func TestTheStoreIsSilent(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	topics := number.FindString(get(t, s, "/console/").Body.String())
	s.Store = silent{s.Store}
	began := time.Now()
	answer := get(t, s, "/console/")
	require.Less(t, time.Since(began), 4*time.Second)
	require.Equal(t, http.StatusOK, answer.Code)
	require.Contains(t, answer.Body.String(), "took longer than 1s to answer")
	require.Equal(t, topics, number.FindString(answer.Body.String()))
}
