package cli_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

// Who is refused by a limit is not told to start the gateway.
func TestRefusedByALimit(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t, gatewaytest.Config(func(c *app.Config) { c.Server.MaxConnectionsPerAddress = 1 }))
	only, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer only.Close()
	_, err = execute(t, "topics", "list", "--bootstrap", addr)
	require.ErrorContains(t, err, "cannot talk to "+addr+": ")
	require.ErrorContains(t, err, "(a limit may have closed the connection: max_connections, max_connections_per_address or quotas.connection_creation_rate; "+
		"the gateway's metric kafka_gateway_connections_refused_total says which)")
	require.NotContains(t, err.Error(), "start the gateway")
}
