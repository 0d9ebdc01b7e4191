package security_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/security"
)

// An IPv4 address is a source, however it is written, and so is a network of 64 bits.
func TestSource(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"10.1.2.3":               "10.1.2.3",
		"::ffff:10.1.2.3":        "10.1.2.3",
		"2001:db8:1:2:3:4:5:6":   "2001:db8:1:2::",
		"2001:db8:1:2:9:9:9:9":   "2001:db8:1:2::",
		"2001:db8:1:3::1":        "2001:db8:1:3::",
		"fe80::1%eth0":           "fe80::",
		"fe80::2%eth1":           "fe80::",
		"0:0:0:0:0:0:0:1":        "::",
		"::ffff:192.168.178.201": "192.168.178.201",
	} {
		require.Equal(t, netip.MustParseAddr(want), security.Source(host), host)
	}
	for _, none := range []string{"", "pipe", "10.1.2"} {
		require.Zero(t, security.Source(none))
	}
	require.Zero(t, security.SourceOf(netip.Addr{}))
}
