package metadata

import (
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
)

// plan is what an answer holds, before it is built.
type plan struct {
	version   int16
	host      string
	port      int32
	clusterID *string
	topics    []entry
}

// price returns the length of the answer in bytes, with its header and without
// the length prefix of the frame.
func (p *plan) price() int64 {
	v, l := p.version, encoded.At(p.version, 9)
	sum := l.Header() + l.Array(1) + 4 + l.String(len(p.host)) + 4 + l.Tags() // one broker
	if v >= 1 {
		sum += l.Null() // its rack
		sum += 4        // controller
	}
	if v >= 2 {
		sum += l.NullableString(p.clusterID)
	}
	if v >= 3 {
		sum += 4 // throttle time
	}
	if v >= 8 && v <= 10 {
		sum += 4 // authorized operations
	}
	if v >= 13 {
		sum += 2 // error code
	}
	sum += l.Array(len(p.topics)) + l.Tags()
	return sum + p.priceTopics(l)
}

func (p *plan) priceTopics(l encoded.Layout) int64 {
	each := 2 + l.Tags() // error code
	if p.version >= 1 {
		each++ // internal
	}
	if p.version >= 8 {
		each += 4 // authorized operations
	}
	if p.version >= 10 {
		each += 16 // id
	}
	partition := pricePartition(p.version, l)
	sum := each * int64(len(p.topics))
	for i := range p.topics {
		t := &p.topics[i]
		if t.name == nil && p.version < 12 {
			sum += l.String(0) // not yet nullable
		} else {
			sum += l.NullableString(t.name)
		}
		sum += l.Array(int(t.partitions)) + int64(t.partitions)*partition
	}
	return sum
}

// pricePartition returns the length of a partition with one replica, one ISR
// entry and no offline replica.
func pricePartition(version int16, l encoded.Layout) int64 {
	sum := 2 + 4 + 4 + 2*(l.Array(1)+4) + l.Tags()
	if version >= 5 {
		sum += l.Array(0)
	}
	if version >= 7 {
		sum += 4 // leader epoch
	}
	return sum
}

// memory returns the memory in bytes that the answer takes before it is
// encoded.
func (p *plan) memory() int64 {
	return int64(len(p.topics))*int64(unsafe.Sizeof(entry{})+unsafe.Sizeof(kmsg.MetadataResponseTopic{})) +
		int64(p.maxPartitions())*int64(unsafe.Sizeof(kmsg.MetadataResponseTopicPartition{}))
}

func (p *plan) maxPartitions() int32 {
	n := int32(0)
	for i := range p.topics {
		n = max(n, p.topics[i].partitions)
	}
	return n
}
