package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
)

// hidden is a handler whose key is not shown.
type hidden struct{ handler.Handler }

func (h hidden) Spec() handler.Spec {
	spec := h.Handler.Spec()
	handler.HiddenIf(true)(&spec)
	return spec
}

// A hidden key is served, and ApiVersions does not show it.
func TestHidden(t *testing.T) {
	t.Parallel()
	table, err := NewTable([]handler.Handler{hidden{dispatchtest.Heartbeat(nil)}, dispatchtest.ApiVersions()}, nil)
	require.NoError(t, err)
	require.Equal(t, []handler.Range{{Key: 18, Min: 0, Max: 4}}, table.APIs())
	require.Len(t, table.Specs(), 2)
	require.Contains(t, table.entries, int16(12))
}
