package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/app/cli"
)

func TestExposure(t *testing.T) {
	t.Parallel()
	const everywhere, here = "0.0.0.0:9092", "127.0.0.1:9092"
	next := time.Now().AddDate(1, 0, 0)
	for _, test := range []struct {
		name       string
		listeners  []Listener
		authorizer bool
		want       []string // "status: text", cut where it is not looked at
	}{
		{"loopback alone", []Listener{{Listen: here, Protocol: "PLAINTEXT"}}, false, []string{"ok: only this machine"}},
		{"open", []Listener{{Key: "listen", Listen: everywhere, Protocol: "PLAINTEXT"}}, false, []string{
			"warn: the gateway listens on 0.0.0.0:9092 (listen) without encryption", "warn: whoever reaches 0.0.0.0:9092"}},
		{"passwords in the clear", []Listener{{Key: "listeners.x.listen", Listen: everywhere, Protocol: "SASL_PLAINTEXT", Plain: true}}, true, []string{
			"warn: clients may show passwords or tokens to the gateway on 0.0.0.0:9092 (listeners.x.listen)"}},
		{"data in the clear", []Listener{{Listen: everywhere, Protocol: "SASL_PLAINTEXT"}}, true, []string{"warn: what clients send and read"}},
		{"good", []Listener{{Listen: everywhere, Protocol: "SASL_SSL", Certificate: "c.pem", Expires: next}, {Listen: here, Protocol: "PLAINTEXT"}}, true, []string{
			"ok: listeners that others can reach are encrypted", "ok: c.pem is good until"}},
		{"certificates", []Listener{
			{Listen: here, Protocol: "SSL", Certificate: "soon.pem", Expires: time.Now().Add(time.Hour)},
			{Listen: here, Protocol: "SASL_SSL", Certificate: "soon.pem", Expires: time.Now().Add(time.Hour)},
			{Listen: here, Protocol: "SSL", Certificate: "over.pem", Expires: time.Now().Add(-time.Hour)},
			{Key: "listeners.x.listen", Listen: here, Protocol: "SSL", Err: errors.New("tls.certificate: is not set")},
		}, true, []string{"ok: only this machine", "warn: soon.pem expires at", "fail: over.pem has expired", "fail: listeners.x.listen: tls.certificate: is not set"}},
	} {
		got := Setup{Listeners: test.listeners, Authorizer: test.authorizer}.exposure()
		require.Len(t, got, len(test.want), "%s: %v", test.name, got)
		for i, f := range got {
			text := string(f.Status) + ": " + f.Text
			require.True(t, strings.HasPrefix(text, test.want[i]), "%s: %s", test.name, text)
			require.Equal(t, f.Status == OK, f.Remedy == "", test.name)
		}
	}
}

// Doctor asks the listener that fits who it is.
func TestListenerFor(t *testing.T) {
	t.Parallel()
	s := Setup{Listeners: []Listener{{Listen: "a", Protocol: "PLAINTEXT"}, {Listen: "b", Protocol: "SSL"}, {Listen: "c", Protocol: "SASL_SSL"}}}
	for want, how := range map[string]cli.Connection{
		"a": {}, "b": {TLS: true}, "c": {CA: "ca.pem", User: "alice"},
	} {
		s.Connection = how
		require.Equal(t, want, s.listenerFor().Listen)
	}
	s.Connection = cli.Connection{CommandConfig: "client.properties"}
	require.Equal(t, "a", s.listenerFor().Listen)
	require.Empty(t, Setup{}.listenerFor())
}

// A listener that encrypts is asked by the name that clients are told, which is the one in
// its certificate.
func TestWhereAListenerIsAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ listen, advertise, protocol, asked, told string }{
		{"0.0.0.0:9092", "", "PLAINTEXT", "127.0.0.1:9092", "0.0.0.0:9092"},
		{"0.0.0.0:9092", "kafka.example.com", "SASL_PLAINTEXT", "127.0.0.1:9092", "kafka.example.com:9092"},
		{"0.0.0.0:9093", "kafka.example.com", "SASL_SSL", "kafka.example.com:9093", "kafka.example.com:9093"},
		{"0.0.0.0:9093", "kafka.example.com:443", "SSL", "kafka.example.com:443", "kafka.example.com:443"},
		{"[::]:9093", "2001:db8::7", "SSL", "[2001:db8::7]:9093", "[2001:db8::7]:9093"},
		{"127.0.0.1:9093", "[2001:db8::7]", "SSL", "[2001:db8::7]:9093", "[2001:db8::7]:9093"},
		{"127.0.0.1:9093", "", "SSL", "127.0.0.1:9093", "127.0.0.1:9093"},
	} {
		l := Listener{Listen: test.listen, Advertise: test.advertise, Protocol: test.protocol}
		require.Equal(t, test.asked, l.asked())
		require.Equal(t, test.told, l.told())
	}
}
