package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/settings"
)

// Of several listeners all are shown; the only one is an address.
func TestListenersAreShown(t *testing.T) {
	t.Parallel()
	s := demoSources(t)
	s.Node.Listen([]settings.Listener{{Name: "default", Protocol: "PLAINTEXT", Host: "kafka.example.com", Port: 9092}})
	page := get(t, s, "/console/").Body.String()
	require.Contains(t, page, "<code>kafka.example.com:9092</code>")
	require.NotContains(t, page, "PLAINTEXT")

	s.Node.Listen([]settings.Listener{
		{Name: "default", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092},
		{Name: "external", Protocol: "SASL_SSL", Host: "2001:db8::1", Port: 9093},
	})
	page = get(t, s, "/console/").Body.String()
	require.Contains(t, page, "default, PLAINTEXT: <code>127.0.0.1:9092</code>")
	require.Contains(t, page, "external, SASL_SSL: <code>[2001:db8::1]:9093</code>")
}
