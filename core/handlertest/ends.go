package handlertest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// Spent puts a request to a handler that gets no memory. The error of the budget
// must come back as it is: it closes the connection, for its own reason. Spent returns
// what the handler asked for last, in bytes.
func Spent(t testing.TB, h handler.Handler, req kmsg.Request) (asked int64) {
	t.Helper()
	spent := errors.New("spent")
	call := handler.Call{MaxFrame: 1 << 20, Memory: Memory(func(n int64) error {
		asked = n
		return spent
	})}
	_, err := h.Handle(t.Context(), call, req)
	require.ErrorIs(t, err, spent)
	return asked
}

// Gone puts a request to a handler whose client has gone away, which ends its
// work.
func Gone(t testing.TB, h handler.Handler, req kmsg.Request) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Handle(ctx, handler.Call{MaxFrame: 1 << 20}, req)
	require.ErrorIs(t, err, context.Canceled)
}
