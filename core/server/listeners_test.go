package server

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch/dispatchtest"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
)

// Several listeners serve at once; each tells its clients its own address.
func TestSeveralListeners(t *testing.T) {
	t.Parallel()
	calls := make(chan handler.Listener, 10)
	g, l := &greeting{}, &logins{}
	r := startWith(t, []Option{g.protocol(false), WithLogins(l)}, func(c *Config) {
		c.Listeners = map[string]ListenerConfig{
			"internal": {Listen: "127.0.0.1:0", Protocol: SASLPlaintext, Mechanisms: []string{"WORD"}},
			"external": {Listen: "0.0.0.0:0", Advertise: "kafka.example.com:29093", Protocol: "GREETING"},
		}
	}, dispatchtest.Heartbeat(
		func(_ context.Context, call handler.Call, _ *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
			calls <- call.Listener
			return kmsg.NewPtrHeartbeatResponse(), nil
		}))
	bound := r.Bound()
	require.Len(t, bound, 3)
	require.Equal(t, r.Addr(), bound[0].Addr, "the default listener is the first")
	for i, want := range []handler.Listener{
		{Name: "default", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: bound[0].Port},
		{Name: "external", Protocol: "GREETING", Host: "kafka.example.com", Port: 29093},
		{Name: "internal", Protocol: "SASL_PLAINTEXT", Host: "127.0.0.1", Port: bound[2].Port},
	} {
		c := r.dialTo(i)
		if want.Protocol == "GREETING" {
			c.greet("alice")
		}
		c.ask(quick(0), 4)
		require.Equal(t, want, <-calls)
		require.Equal(t, want, handler.Listener{Name: bound[i].Name, Protocol: bound[i].Protocol, Host: bound[i].Host, Port: bound[i].Port})
	}
	host, port := r.node.Address()
	require.Equal(t, "127.0.0.1", host)
	require.Equal(t, bound[0].Port, port)
	require.Len(t, r.node.Listeners(), 3)
	require.Equal(t, settings.Listener{Name: "external", Protocol: "GREETING", Host: "kafka.example.com", Port: 29093}, r.node.Listeners()[1])
	require.Nil(t, r.node.Listeners()[0].Mechanisms)
	require.Equal(t, []string{"WORD"}, r.node.Listeners()[2].Mechanisms)
	require.NoError(t, r.Stop(context.Background()))
	require.EqualValues(t, 1, g.closed.Load())
}

// All faults of listeners come at once, each with the key's full name.
func TestListenersAreChecked(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Listeners = map[string]ListenerConfig{
		"default":  {Listen: "10.0.0.1:1"},
		"External": {Listen: "10.0.0.1:9093"},
		"missing":  {},
		"same":     {Listen: "10.0.0.1:9093", Advertise: "0.0.0.0:1", MaxConnections: -1, ConnectionRate: -1},
		"all":      {Listen: "0.0.0.0:9092"},
	}
	require.EqualError(t, cfg.Validate(), `listeners.External.listen: "External" is no name for a listener; write lower-case letters, digits, - and _, a letter first
listeners.all.listen: "0.0.0.0:9092" names no single address that clients could be told; set listeners.all.advertise to the host:port they reach
listeners.all.listen: "0.0.0.0:9092" is the port of listen, "127.0.0.1:9092", too; each listener needs its own
listeners.default.listen: listen describes the listener "default" already; give this one another name, or set listen to ""
listeners.missing.listen: is missing; set the address to listen on, host:port
listeners.same.advertise: "0.0.0.0:1" is no address that a client can connect to
listeners.same.max_connections: -1 is negative
listeners.same.connection_rate: -1 is not a number of connections a second
listeners.same.listen: "10.0.0.1:9093" is the port of listeners.External.listen, "10.0.0.1:9093", too; each listener needs its own`)

	cfg = DefaultConfig()
	cfg.Listen = ""
	require.EqualError(t, cfg.Validate(), `listen: "" leaves no listener; set it to host:port, or add a section to listeners`)
	cfg.Listeners = map[string]ListenerConfig{"default": {Listen: "10.0.0.1:9092"}, "two": {Listen: "10.0.0.2:9092"}, "free": {Listen: "10.0.0.1:0"}, "freetoo": {Listen: "10.0.0.1:0"}}
	require.NoError(t, cfg.Validate())
}

// So do those that depend on what the gateway was built from.
func TestProtocolsAreChecked(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Protocol = "sasl_ssl"
	cfg.Mechanisms = []string{"PLAIN"}
	cfg.Listeners = map[string]ListenerConfig{
		"login": {Listen: "127.0.0.1:0", Protocol: SASLPlaintext, Mechanisms: []string{"PLAIN"}},
		"plain": {Listen: "127.0.0.1:0", Mechanisms: []string{"WORD"}},
		// Whoever sets these takes the listener for encrypted.
		"clear": {Listen: "127.0.0.1:0", Certificate: "c", Key: "k", ClientCA: "ca", ClientAuth: "required"},
		"asks":  {Listen: "127.0.0.1:0", Protocol: SASLPlaintext, Mechanisms: []string{"WORD"}, ClientAuth: "none"},
	}
	g := &greeting{}
	_, err := New(cfg, nil, nil, nil, zap.NewNop(), nil, g.protocol(false), g.protocol(false), WithLogins(&logins{}))
	require.EqualError(t, err, `protocol: two protocols have the name GREETING
protocol: "sasl_ssl" is none of GREETING, PLAINTEXT, SASL_PLAINTEXT
listeners.asks.client_auth: a listener of protocol SASL_PLAINTEXT is not encrypted; remove it, or set listeners.asks.protocol to one with SSL
listeners.clear.certificate: a listener of protocol PLAINTEXT is not encrypted; remove it, or set listeners.clear.protocol to one with SSL
listeners.clear.key: a listener of protocol PLAINTEXT is not encrypted; remove it, or set listeners.clear.protocol to one with SSL
listeners.clear.client_ca: a listener of protocol PLAINTEXT is not encrypted; remove it, or set listeners.clear.protocol to one with SSL
listeners.clear.client_auth: a listener of protocol PLAINTEXT is not encrypted; remove it, or set listeners.clear.protocol to one with SSL
listeners.login.mechanisms: PLAIN is none of WORD
listeners.plain.mechanisms: nobody logs in on a listener of protocol PLAINTEXT; remove them, or set listeners.plain.protocol to one with SASL`)

	cfg = DefaultConfig()
	cfg.Protocol = SASLPlaintext
	_, err = New(cfg, nil, nil, nil, zap.NewNop(), nil)
	require.EqualError(t, err, `protocol: SASL_PLAINTEXT needs clients to log in, and this gateway was built without SASL`)
}

// What cannot be opened is told of together, and what was opened is closed.
func TestOpeningFails(t *testing.T) {
	t.Parallel()
	taken := start(t, nil)
	g := &greeting{}
	r := buildWith(t, []Option{g.protocol(false)}, func(c *Config) {
		c.Listeners = map[string]ListenerConfig{
			"bad":   {Listen: "127.0.0.1:0", Protocol: "GREETING", Certificate: "bad"},
			"good":  {Listen: "127.0.0.1:0", Protocol: "GREETING"},
			"taken": {Listen: taken.Addr().String()},
		}
	})
	err := r.Start(context.Background())
	require.ErrorContains(t, err, "listeners.bad.certificate: there is none in it\ntls.key: is missing\nlisteners.taken.listen: "+taken.Addr().String()+" is in use")
	require.ErrorContains(t, err, "or set listeners.taken.listen to another port")
	require.EqualValues(t, 1, g.closed.Load())
	require.Nil(t, r.Addr())
	require.Empty(t, r.Bound())
	require.NoError(t, r.Stop(context.Background()))
	require.NoError(t, start(t, nil).Ready())
}
