package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// consumerType is the protocol type whose bytes have a known layout.
	consumerType = "consumer"
	// longestDecoded is how many bytes of one member are decoded: its structures
	// take some forty times as much.
	longestDecoded = 128 << 10
	// shownTopics is how many topics of one member are listed.
	shownTopics = 20
	// shownRanges is how many ranges of partitions of one topic are listed.
	shownRanges = 40
	// shownBytes is how many bytes of something else are shown.
	shownBytes = 64
)

// assigned is what a member was given.
type assigned struct {
	Partitions int
	Topics     []assignedTopic
	More       int    // topics that are not listed
	Raw        string // what cannot be decoded; then nothing else is set
}

type assignedTopic struct{ Name, Partitions string }

// decode reads an assignment of the consumer protocol. Whatever does not decode
// is shown as bytes.
func decode(protocolType string, data []byte) assigned {
	var a kmsg.ConsumerMemberAssignment
	switch {
	case len(data) == 0:
		return assigned{}
	case protocolType != consumerType, len(data) > longestDecoded, a.ReadFrom(data) != nil:
		return assigned{Raw: raw(data)}
	}
	slices.SortFunc(a.Topics, func(x, y kmsg.ConsumerMemberAssignmentTopic) int { return cmp.Compare(x.Topic, y.Topic) })
	var out assigned
	for i, t := range a.Topics {
		out.Partitions += len(t.Partitions)
		if i < shownTopics {
			out.Topics = append(out.Topics, assignedTopic{t.Topic, ranges(t.Partitions)})
		}
	}
	out.More = max(len(a.Topics)-shownTopics, 0)
	return out
}

// subscribed reads the topics that a member of the consumer protocol asked for.
func subscribed(protocolType string, metadata []byte) []string {
	var m kmsg.ConsumerMemberMetadata
	if protocolType != consumerType || len(metadata) > longestDecoded || m.ReadFrom(metadata) != nil {
		return nil
	}
	slices.Sort(m.Topics)
	if more := len(m.Topics) - shownTopics; more > 0 {
		return append(m.Topics[:shownTopics:shownTopics], fmt.Sprintf("and %s", plural(more, "other", "others")))
	}
	return m.Topics
}

// ranges writes partitions shortly: "0–3, 7".
func ranges(ps []int32) string {
	ps = slices.Sorted(slices.Values(ps))
	var out []string
	for i := 0; i < len(ps); {
		j := i
		for j+1 < len(ps) && int64(ps[j+1]) <= int64(ps[j])+1 {
			j++
		}
		if len(out) == shownRanges {
			return strings.Join(out, ", ") + ", …"
		}
		if ps[i] == ps[j] {
			out = append(out, fmt.Sprint(ps[i]))
		} else {
			out = append(out, fmt.Sprintf("%d–%d", ps[i], ps[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// raw shows bytes that nobody can read, in hexadecimal.
func raw(data []byte) string {
	if len(data) <= shownBytes {
		return fmt.Sprintf("%s: % x", plural(len(data), "byte", "bytes"), data)
	}
	return fmt.Sprintf("%s: % x …", plural(len(data), "byte", "bytes"), data[:shownBytes])
}
