package hostile

import (
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// names are all that hostile requests name, unless damage makes another of one. Those of good clients are not among them.
var names = []string{"hostile-a", "hostile-b", "hostile-c", "range", "consumer", "", ".", "hostile/🂡", "retention.ms", "cleanup.policy", "compact", "PLAIN", "SCRAM-SHA-256"}

// numbers are those of hostile requests. They are small, so that what is made by them stays small.
var numbers = []int64{0, 0, 1, 1, 2, 3, 7, 100, -1, -2, 6000, math.MaxInt16, math.MaxInt32, math.MaxInt64, math.MinInt64}

// stock makes requests of every key and version.
type stock struct {
	*rand.Rand
	handlers []handler.Handler
}

// frame returns a request that decodes.
func (s stock) frame() []byte {
	req := s.request()
	if s.IntN(8) == 0 {
		req = s.sensible()
	}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(names[s.IntN(3)])).AppendRequest(nil, req, int32(s.Uint32()))
}

// request is one of any key and version.
func (s stock) request() kmsg.Request {
	h := s.handlers[s.IntN(len(s.handlers))]
	spec := h.Spec()
	version := spec.Min + int16(s.IntN(int(spec.Max-spec.Min)+1))
	legal := handlertest.Legal(h, version)
	req := legal[s.IntN(len(legal))]
	if s.IntN(4) != 0 {
		s.dress(reflect.ValueOf(req).Elem())
	}
	return req
}

// sensible is a request that changes something, so that others find what they are about.
func (s stock) sensible() kmsg.Request {
	name := names[s.IntN(3)]
	switch s.IntN(5) {
	case 0:
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = int16(s.IntN(6)+2), 1000
		req.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: 3, ReplicationFactor: 1}}
		return req
	case 1:
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = int16(s.IntN(10)+3), int16(s.IntN(3)-1), 1000
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: name, Partitions: []kmsg.ProduceRequestTopicPartition{{
			Partition: int32(s.IntN(3)), Records: recordtest.Values("one", "two").Compressed(record.Codec(s.IntN(5))).Bytes(),
		}}}}
		return req
	case 2:
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxBytes, req.SessionEpoch, req.MaxWaitMillis, req.MinBytes = int16(s.IntN(9)+4), 1<<20, -1, int32(s.IntN(100)), 1
		req.Topics = []kmsg.FetchRequestTopic{{Topic: name, Partitions: []kmsg.FetchRequestTopicPartition{{
			Partition: int32(s.IntN(3)), CurrentLeaderEpoch: -1, FetchOffset: int64(s.IntN(3)), PartitionMaxBytes: 1 << 20,
		}}}}
		return req
	case 3:
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.ProtocolType = int16(s.IntN(4)), name, "consumer"
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, 1000
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 1}}}
		return req
	default:
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = int16(s.IntN(7)+2), name, -1
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: name, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1, LeaderEpoch: -1}}}}
		return req
	}
}

// dress puts names and numbers into a request that mean something to somebody.
func (s stock) dress(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Version" && f.Type != reflect.TypeFor[kmsg.Tags]() {
				s.dress(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			s.dress(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if !v.IsNil() {
				v.SetBytes(s.bytes())
			}
			return
		}
		for i := range v.Len() {
			s.dress(v.Index(i))
		}
	case reflect.String:
		v.SetString(names[s.IntN(len(names))])
	case reflect.Bool:
		v.SetBool(s.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := numbers[s.IntN(len(numbers))]; !v.OverflowInt(n) {
			v.SetInt(n)
		}
	}
}

// bytes are records, whole or damaged behind a checksum that is right, or a login.
func (s stock) bytes() []byte {
	batch := recordtest.Values("one", "two", "three").Compressed(record.Codec(s.IntN(5)))
	if s.IntN(2) == 0 {
		batch = batch.From(int64(s.IntN(3)), int16(s.IntN(2)), int32(s.IntN(4)))
	}
	b := batch.Bytes()
	switch s.IntN(4) {
	case 0:
		return b
	case 1:
		return []byte("\x00" + User + "\x00" + names[s.IntN(len(names))])
	case 2:
		return []byte("n,,n=" + User + ",r=nonce")
	}
	const checked = 21 // where what the checksum is of begins
	for range 1 + s.IntN(4) {
		b[checked+s.IntN(len(b)-checked)] ^= 1 << s.IntN(8)
	}
	return recordtest.Seal(b)
}
