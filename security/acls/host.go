package acls

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// host is what an ACL says of the client's address. Texts that are no address, as
// names of hosts, match nothing, since addresses are what they are compared with.
type host struct {
	text    string
	address netip.Addr   // valid where the text is an address
	network netip.Prefix // valid where it is a network in CIDR notation
}

func newHost(text string) host {
	h := host{text: text}
	if strings.Contains(text, "/") {
		h.network, _ = parseNetwork(text)
	} else {
		address, _ := netip.ParseAddr(text)
		h.address = address.Unmap() // as clients' addresses are
	}
	return h
}

// matches reports whether a client's address is the host's, or in its network. An
// IPv6 address has several texts, of which Java and Go prefer different ones, so
// addresses are compared as numbers.
func (h host) matches(text string, address netip.Addr) bool {
	return h.text == text ||
		h.address.IsValid() && h.address == address ||
		h.network.IsValid() && h.network.Contains(address)
}

// parseNetwork reads a network in CIDR notation, as Kafka does: an IPv4 network may
// have leading zeros, and bits behind the prefix are ignored. A fault says what is
// wrong with it in the words of Kafka's library.
func parseNetwork(text string) (network netip.Prefix, fault string) {
	address, bits, _ := strings.Cut(text, "/")
	if strings.Contains(text, ":") {
		return parseNetwork6(text, address, bits)
	}
	var ip [4]byte
	numbers := strings.Split(address, ".")
	if len(numbers) != len(ip) || !digits(bits, 2) {
		return netip.Prefix{}, fmt.Sprintf("Could not parse [%s]", text)
	}
	for i, number := range numbers {
		if !digits(number, 3) {
			return netip.Prefix{}, fmt.Sprintf("Could not parse [%s]", text)
		}
		n, _ := strconv.Atoi(number)
		if n > 255 {
			return netip.Prefix{}, fmt.Sprintf("Value [%d] not in range [0,255]", n)
		}
		ip[i] = byte(n) // #nosec G115 -- at most 255
	}
	n, _ := strconv.Atoi(bits)
	if n > 32 {
		return netip.Prefix{}, fmt.Sprintf("Value [%d] not in range [0,32]", n)
	}
	return netip.PrefixFrom(netip.AddrFrom4(ip), n), ""
}

func parseNetwork6(text, address, bits string) (network netip.Prefix, fault string) {
	n, err := strconv.Atoi(bits)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Sprintf("Could not parse [%s] - invalid prefix length", text)
	case n < 0 || n > 128:
		return netip.Prefix{}, fmt.Sprintf("Could not parse [%s] - prefix length must be between 0 and 128", text)
	}
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil || ip.Zone() != "":
		return netip.Prefix{}, fmt.Sprintf("Could not parse [%s]", address)
	case !ip.Is6() || ip.Is4In6():
		return netip.Prefix{}, fmt.Sprintf("Could not parse [%s] - not an IPv6 address", address)
	}
	return netip.PrefixFrom(ip, n), ""
}

// digits reports whether a text is a number of up to so many digits.
func digits(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
}
