package porttest_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/internal/porttest"
)

// Who asks for the address can listen there, again and again.
func TestAddress(t *testing.T) {
	t.Parallel()
	address := porttest.Address(t)
	require.NotEqual(t, address, porttest.Address(t))
	for range 3 {
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

// Whoever takes any port does not get it.
func TestNobodyElseGetsIt(t *testing.T) {
	t.Parallel()
	address := porttest.Address(t)
	for range 5_000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NotEqual(t, address, l.Addr().String())
		require.NoError(t, l.Close())
	}
}
