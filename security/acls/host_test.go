package acls

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Kafka 4.4 says of networks; "" where it takes them.
func TestParseNetwork(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/8":           "",
		"10.1.2.3/8":           "",
		"010.0.0.0/08":         "",
		"0.0.0.0/0":            "",
		"10.0.0.1/32":          "",
		"2001:db8::/32":        "",
		"::/0":                 "",
		"10.0.0.0/33":          "Value [33] not in range [0,32]",
		"10.0.0.300/8":         "Value [300] not in range [0,255]",
		"10.0.0/8":             "Could not parse [10.0.0/8]",
		"host/8":               "Could not parse [host/8]",
		"0.0.0.0//0":           "Could not parse [0.0.0.0//0]",
		"10.0.0.0/":            "Could not parse [10.0.0.0/]",
		"10.0.0.0/+8":          "Could not parse [10.0.0.0/+8]",
		"1000.0.0.0/8":         "Could not parse [1000.0.0.0/8]",
		"2001:db8::/129":       "Could not parse [2001:db8::/129] - prefix length must be between 0 and 128",
		"2001:db8::/-1":        "Could not parse [2001:db8::/-1] - prefix length must be between 0 and 128",
		"2001:db8::/":          "Could not parse [2001:db8::/] - invalid prefix length",
		"2001:zz8::/12":        "Could not parse [2001:zz8::]",
		"fe80::1%eth0/64":      "Could not parse [fe80::1%eth0]",
		"::ffff:10.0.0.0/104":  "Could not parse [::ffff:10.0.0.0] - not an IPv6 address",
		"99999999999999:/9999": "Could not parse [99999999999999:/9999] - prefix length must be between 0 and 128",
	} {
		_, fault := parseNetwork(text)
		require.Equal(t, want, fault, text)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host string
		in   []string
		out  []string
	}{
		{"10.0.0.1", []string{"10.0.0.1", "::ffff:10.0.0.1"}, []string{"10.0.0.2", "::1", ""}},
		{"::ffff:10.0.0.1", []string{"10.0.0.1", "::ffff:10.0.0.1"}, []string{"10.0.0.2"}},
		{"fe80::1%eth0", nil, []string{"fe80::1", "fe80::1%eth1"}},
		{"0:0:0:0:0:0:0:1", []string{"::1", "0:0:0:0:0:0:0:1"}, []string{"::2", "0.0.0.1"}},
		{"10.1.2.3/8", []string{"10.0.0.0", "10.255.255.255", "10.1.2.3"}, []string{"11.0.0.0", "::1", "a"}},
		{"010.0.0.0/08", []string{"10.9.9.9"}, []string{"8.0.0.1"}},
		{"10.0.0.1/32", []string{"10.0.0.1"}, []string{"10.0.0.0", "10.0.0.2"}},
		{"10.0.0.0/31", []string{"10.0.0.0", "10.0.0.1"}, []string{"10.0.0.2"}},
		{"0.0.0.0/0", []string{"10.0.0.1"}, []string{"::1"}},
		{"2001:db8::/32", []string{"2001:db8::", "2001:db8:ffff::1"}, []string{"2001:db9::", "10.0.0.1"}},
		{"fe80::/10", []string{"fe80::1%eth0"}, []string{"::1"}},
		{"localhost", []string{"localhost"}, []string{"127.0.0.1", "::1"}},
	} {
		h := newHost(c.host)
		match := func(text string) bool {
			who := client{host: text}
			return h.matches(text, who.parsed())
		}
		for _, text := range c.in {
			require.True(t, match(text), "%s in %s", text, c.host)
		}
		for _, text := range c.out {
			require.False(t, match(text), "%s in %s", text, c.host)
		}
	}
	require.Equal(t, netip.Addr{}, (&client{host: "x"}).parsed())
}
