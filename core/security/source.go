package security

import "net/netip"

// SourceOf returns what an address counts as where strangers are bounded: itself, or of
// IPv6 the first address of its network of 64 bits, as whoever has one has all of it.
func SourceOf(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	network, err := addr.Prefix(64)
	if err != nil { // not of an IPv6 address
		return addr
	}
	return network.Addr()
}

// Source is SourceOf an address as text. Everything that is none counts as one source.
func Source(host string) netip.Addr {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return SourceOf(addr)
}
