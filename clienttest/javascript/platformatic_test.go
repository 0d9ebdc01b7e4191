package javascript

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest"
)

func TestPlatformatic(t *testing.T) {
	modules := install(t)
	clienttest.Run(t, platformatic(t), func(t *testing.T, addr string) clienttest.Client {
		return clienttest.Script(t, addr, "node", "platformatic.mjs", modules)
	})
}

// platformatic is what the library cannot do.
func platformatic(t *testing.T) clienttest.Traits {
	traits := clienttest.Traits{Lacks: map[string]string{}}
	if !nodeHasZstd(t) {
		traits.Lacks["zstd"] = "it takes zstd from Node.js, which has it since 22.15"
	}
	return traits
}

func nodeHasZstd(t *testing.T) bool {
	out, err := exec.CommandContext(t.Context(), "node", "-p", "typeof require('node:zlib').zstdCompressSync").Output()
	require.NoError(t, err)
	return string(out) == "function\n"
}
