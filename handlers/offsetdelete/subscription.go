package offsetdelete

import (
	"unsafe"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/coordinator"
)

// consumerProtocol is the protocol type of groups whose members' metadata are
// ConsumerProtocolSubscription.
const consumerProtocol = "consumer"

// memberMemory is what a member takes that is looked at, in bytes.
const memberMemory = int64(unsafe.Sizeof(coordinator.MemberDescription{}))

// topics are those of a request, with whether the group subscribes to them. They
// are pointers, because a mark must not replace a key by bytes of a member.
type topics map[string]*bool

// has reports whether the group subscribes to a topic.
func (t topics) has(topic string) bool {
	marked := t[topic]
	return marked != nil && *marked
}

// subscriptions returns which topics of a request the group's members subscribe
// to: all of them when that cannot be told, as when no protocol is chosen yet.
func subscriptions(group *coordinator.Description, req *kmsg.OffsetDeleteRequest) topics {
	subscribed := make(topics, len(req.Topics))
	for i := range req.Topics {
		subscribed[req.Topics[i].Topic] = new(bool)
	}
	told := group.Protocol != ""
	for i := 0; told && i < len(group.Members); i++ {
		told = subscribed.mark(group.Members[i].Metadata)
	}
	if !told {
		for _, marked := range subscribed {
			*marked = true
		}
	}
	return subscribed
}

// mark marks the topics that a member's metadata name. It reports false when the
// metadata cannot be read. Nothing of them is copied or kept: they may be large,
// and were sent by somebody else.
//
// Their layout is a version, whatever that is, the topics and user data; what
// follows in later versions is about assignments.
func (t topics) mark(metadata []byte) bool {
	r := kbin.Reader{Src: metadata}
	r.Int16()
	for n := r.ArrayLen(); n > 0 && r.Ok(); n-- {
		if marked := t[r.UnsafeString()]; marked != nil && r.Ok() {
			*marked = true
		}
	}
	r.NullableBytes()
	return r.Ok()
}
