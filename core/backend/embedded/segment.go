package embedded

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// indexInterval is how many bytes of a segment one entry of its index covers,
// at least. What lies between entries is found by reading headers.
const indexInterval = 64 << 10

// segment is one file of a partition. Unless another guard is named, the
// partition's mu guards the fields that change.
type segment struct {
	base int64 // offset of its first record, and part of its name
	// generation is 0 for a file that was appended to; compaction writes others.
	generation uint32
	name       string // path
	start      int64  // log position of its first byte, counted from any fixed point

	size    int64 // bytes that count; the file may be longer, see partition.torn
	visible int64 // bytes that readers may see
	next    int64 // offset behind the last record
	maxTime int64 // largest timestamp, ms; −1: none
	// shownTime is the largest timestamp that readers may see.
	shownTime int64
	created   int64 // ms since the epoch

	pending []entry // index entries that are not in pebble yet
	indexed int64   // position of the last entry; the first batch needs none
	sealed  bool    // another segment follows
	stored  bool    // pebble has the segmentValue

	slot slot        // has its own lock
	told atomic.Bool // an error of reading it has been logged
}

// add counts a batch that has been written at the end.
func (g *segment) add(offset, size, next, maxTime int64) {
	if g.size-g.indexed >= indexInterval {
		g.pending = append(g.pending, entry{offset: offset, pos: g.size, maxTime: g.maxTime})
		g.indexed = g.size
	}
	g.size += size
	g.next = next
	g.maxTime = max(g.maxTime, maxTime)
}

// show lets readers see more of the segment.
func (g *segment) show(size, maxTime int64) {
	g.visible, g.shownTime = max(g.visible, size), max(g.shownTime, maxTime)
}

func (g *segment) value() segmentValue {
	return segmentValue{next: g.next, size: g.size, maxTime: g.maxTime, created: g.created}
}

func (g *segment) id() segmentID { return segmentID{g.base, g.generation} }

// segmentFile is the name of a segment's file in the topic's directory.
func segmentFile(partition int32, base int64, generation uint32) string {
	if generation == 0 {
		return fmt.Sprintf("%d-%020d.log", partition, base)
	}
	return fmt.Sprintf("%d-%020d.%d.log", partition, base, generation)
}

// parseSegmentFile is the reverse of segmentFile; ok is false for other names.
func parseSegmentFile(name string) (partition int32, base int64, generation uint32, ok bool) {
	stem, isLog := strings.CutSuffix(name, ".log")
	left, right, found := strings.Cut(stem, "-")
	if !isLog || !found {
		return 0, 0, 0, false
	}
	p, err := strconv.ParseInt(left, 10, 32)
	if err != nil {
		return 0, 0, 0, false
	}
	right, version, _ := strings.Cut(right, ".")
	if version == "" {
		version = "0"
	}
	base, err = strconv.ParseInt(right, 10, 64)
	if err != nil {
		return 0, 0, 0, false
	}
	g, err := strconv.ParseUint(version, 10, 32)
	if err != nil || segmentFile(int32(p), base, uint32(g)) != name {
		return 0, 0, 0, false
	}
	return int32(p), base, uint32(g), true
}
