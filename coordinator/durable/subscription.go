package durable

import (
	"encoding/binary"

	"github.com/iggykafka/gateway/coordinator"
)

// subscribed returns the topics that members subscribe to; false if the
// subscription of one of them cannot be read.
func subscribed(members []coordinator.MemberDescription) (map[string]bool, bool) {
	topics := map[string]bool{}
	for _, m := range members {
		if !readSubscription(m.Metadata, topics) {
			return nil, false
		}
	}
	return topics, true
}

// readSubscription adds the topics of a ConsumerProtocol subscription, which is
// what consumers send as the metadata of each of their protocols:
//
//	version                      int16
//	topics                       int32 count, strings (int16 length)
//	user data                    int32 length, −1 for null
//	owned partitions      v1+    not looked at, nor is what follows
//
// A later version begins like the one before (KIP-429), so any is read.
func readSubscription(b []byte, topics map[string]bool) bool {
	version, b, ok := int16At(b)
	if !ok || version < 0 {
		return false
	}
	count, b, ok := int32At(b)
	if !ok || count < 0 {
		return false
	}
	for range count {
		var n int16
		if n, b, ok = int16At(b); !ok || n < 0 || int(n) > len(b) {
			return false
		}
		topics[string(b[:n])] = true
		b = b[n:]
	}
	size, b, ok := int32At(b)
	return ok && size >= -1 && int(size) <= len(b)
}

func int16At(b []byte) (int16, []byte, bool) {
	if len(b) < 2 {
		return 0, nil, false
	}
	return int16(binary.BigEndian.Uint16(b)), b[2:], true
}

func int32At(b []byte) (int32, []byte, bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:], true
}
