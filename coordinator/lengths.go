package coordinator

import "math/bits"

// Lengths is what is needed to price a group before it is copied: the lengths
// of its strings, and for each field of its members the sums over all members.
type Lengths struct {
	Group        string
	State        State
	ProtocolType string
	Protocol     string
	Members      int
	MemberIDs    Sum
	InstanceIDs  Sum // null counts
	ClientIDs    Sum
	ClientHosts  Sum
	Metadata     Sum // of the selected protocol
	Assignments  Sum
}

// Sum adds up one field of several members, for either way in which Kafka
// writes lengths: a fixed-width prefix a value, or a varint of length+1.
type Sum struct {
	Count    int   // values, nulls included
	Bytes    int64 // of the values themselves
	Prefixes int64 // of their varint prefixes; a null has one byte
}

// Add adds a value of n bytes, times times; times is −1 to take one away. A
// null is n = −1.
func (s *Sum) Add(n int, times int) {
	s.Count += times
	s.Bytes += int64(times * max(n, 0))
	s.Prefixes += int64(times * uvarintLen(uint32(n+1)))
}

// Legacy returns the size with fixed-width prefixes of the given bytes each.
func (s Sum) Legacy(width int) int64 { return int64(s.Count*width) + s.Bytes }

// Compact returns the size with varint prefixes.
func (s Sum) Compact() int64 { return s.Prefixes + s.Bytes }

// uvarintLen returns the length of an unsigned varint: 1 byte for each 7 bits.
func uvarintLen(u uint32) int { return max((bits.Len32(u)+6)/7, 1) }
