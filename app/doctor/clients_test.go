package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Who is told to move data is told which: storage.dir means nothing with Iggy.
func TestMoved(t *testing.T) {
	t.Parallel()
	require.Equal(t, "storage.dir", moved("/var/lib/gateway"))
	require.Equal(t, "the Iggy server's system.path", moved("iggy://127.0.0.1:8090/kafka"))
}
