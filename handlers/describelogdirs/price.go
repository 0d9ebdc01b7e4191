package describelogdirs

import (
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
)

// price returns the length of the answer in bytes, with its header and without
// the length prefix of the frame.
func price(version int16, path string, entries []entry) int64 {
	l := encoded.At(version, 2)
	sum := l.Header() + 4 + // throttle time
		l.Array(1) + 2 + l.String(len(path)) + l.Array(len(entries)) + l.Tags() + // the directory
		l.Tags()
	if version >= 3 {
		sum += 2 // error code
	}
	if version >= 4 {
		sum += 8 + 8 // bytes of the volume
	}
	if version >= 5 {
		sum++ // cordoned
	}
	partition := 4 + 8 + 8 + 1 + l.Tags() // index, size, lag, future
	for i := range entries {
		e := &entries[i]
		sum += l.String(len(e.topic.Name)) + l.Array(e.count()) + int64(e.count())*partition + l.Tags()
	}
	return sum
}

// memory is what the answer takes before it is encoded, in bytes, with the list
// of sizes.
func memory(entries []entry) int64 {
	const (
		topic     = int64(unsafe.Sizeof(kmsg.DescribeLogDirsResponseDirTopic{}))
		partition = int64(unsafe.Sizeof(kmsg.DescribeLogDirsResponseDirTopicPartition{})) + 8
	)
	sum := topic * int64(len(entries))
	for i := range entries {
		sum += partition * int64(entries[i].count())
	}
	return sum
}

// askedMemory is what sorting a request by topics takes, in bytes.
func askedMemory(asked []kmsg.DescribeLogDirsRequestTopic) int64 {
	const topic, partition = int64(unsafe.Sizeof(entry{})) + 64, 8
	sum := topic * int64(len(asked))
	for i := range asked {
		sum += partition * int64(len(asked[i].Partitions))
	}
	return sum
}
