// Package record reads Kafka record batches of magic 2 (KIP-98) in place: it
// parses their header, checks them as a broker checks what a producer sends,
// and walks their records, compressed or not, without keeping them.
package record

// HeaderSize is the length in bytes of a batch header, from the base offset to
// the record count.
const HeaderSize = 61

// Batch is one whole record batch: its bytes and the header fields parsed from
// them. The zero value of a field never means "not parsed".
type Batch struct {
	// Bytes is the batch, from its base offset on, exactly as long as its
	// length field says.
	Bytes []byte

	BaseOffset      int64
	LeaderEpoch     int32
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms since the epoch, or −1
	MaxTimestamp    int64 // ms since the epoch, or −1
	ProducerID      int64 // −1: not idempotent
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32 // records
}
