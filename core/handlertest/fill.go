package handlertest

import (
	"reflect"
	"runtime"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// filling says how a request is filled by reflection.
type filling int

const (
	empty filling = iota // the smallest: empty strings and arrays, no optional structure
	one                  // one element everywhere, short strings, no tags
	three                // three elements everywhere, longer strings, one tag in each structure
	nulls                // null wherever Go has a nil, one element in each array
)

func (f filling) String() string { return [...]string{"empty", "one", "three", "nulls"}[f] }

var tagsType = reflect.TypeFor[kmsg.Tags]()

// knownTags are the fields that travel in tag sections (KIP-482). The walk
// charges for them as tags, so they keep their defaults, which are not sent.
var knownTags = map[string]bool{
	"FetchRequest.ClusterID":                         true,
	"FetchRequest.ReplicaState":                      true,
	"FetchRequestTopicPartition.ReplicaDirectoryID":  true,
	"FetchRequestTopicPartition.HighWatermark":       true,
	"FetchRequestTopicPartition.HighWatermarkOffset": true,
}

// fill sets every field of a request.
func fill(req kmsg.Request, f filling) {
	fillValue(reflect.ValueOf(req).Elem(), f)
}

func fillValue(v reflect.Value, f filling) {
	if v.Type() == tagsType {
		if f == three {
			v.Addr().Interface().(*kmsg.Tags).Set(99, []byte("tag"))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		setDefaults(v)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name != "Version" && !knownTags[v.Type().Name()+"."+name] {
				fillValue(v.Field(i), f)
			}
		}
	case reflect.Pointer:
		if f == nulls || f == empty && v.Type().Elem().Kind() == reflect.Struct {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), f)
	case reflect.Slice:
		fillSlice(v, f)
	case reflect.String:
		v.SetString(strings.Repeat("s", textLen(f)))
	case reflect.Bool:
		v.SetBool(f == three)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f))
	case reflect.Float64:
		v.SetFloat(float64(f))
	case reflect.Array: // a UUID
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(f))
		}
	}
}

// textLen is chosen so that the three fillings fall into different 16-byte
// size classes.
func textLen(f filling) int { return [...]int{0, 3, 33, 0}[f] }

func fillSlice(v reflect.Value, f filling) {
	isBytes := v.Type().Elem().Kind() == reflect.Uint8
	n := [...]int{0, 1, 3, 1}[f]
	if isBytes {
		n = textLen(f)
	}
	if f == nulls && isBytes {
		v.SetZero()
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		if !isBytes {
			fillValue(v.Index(i), f)
		}
	}
}

// setDefaults gives a structure the protocol's defaults, but keeps the version.
func setDefaults(v reflect.Value) {
	d, ok := v.Addr().Interface().(interface{ Default() })
	if !ok {
		return
	}
	if req, ok := v.Addr().Interface().(kmsg.Request); ok {
		version := req.GetVersion()
		defer func() { req.SetVersion(version) }()
	}
	d.Default()
}

// costOf computes the memory that a decoded request holds beyond its frame by
// the rules that package guard states, from the Go value instead of the bytes.
func costOf(req kmsg.Request) int64 { return costOfValue(reflect.ValueOf(req).Elem()) }

func costOfValue(v reflect.Value) int64 {
	if v.Type() == tagsType {
		n := int64(v.Addr().Interface().(*kmsg.Tags).Len())
		switch {
		case n == 0:
			return 0
		case n <= 8:
			return 336
		}
		return 180 * n
	}
	var sum int64
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			sum += costOfValue(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			sum = int64(v.Type().Elem().Size()) + costOfValue(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0 // aliases the frame
		}
		sum = int64(v.Len()) * int64(v.Type().Elem().Size())
		for i := range v.Len() {
			sum += costOfValue(v.Index(i))
		}
	case reflect.String:
		sum = int64(v.Len()+15) / 16 * 16
	}
	return sum
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
