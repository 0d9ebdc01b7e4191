package telemetry

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// What is read of an OTLP MetricsData message (opentelemetry-proto, metrics v1).
// It is walked in place rather than decoded: two bytes of a message that somebody
// sent would become a Go value of a hundred.

// metricKind is which of the kinds a metric has; the number is that of its field.
type metricKind protowire.Number

const (
	gaugeKind       metricKind = 5
	sumKind         metricKind = 7
	histogramKind   metricKind = 9
	exponentialKind metricKind = 10
	summaryKind     metricKind = 11
)

// Field numbers.
const (
	resourceMetrics = 1 // of MetricsData
	scopeMetrics    = 2 // of ResourceMetrics
	metrics         = 2 // of ScopeMetrics
	metricName      = 1 // of Metric
	dataPoints      = 1 // of each kind
	temporality     = 2 // of each kind
	monotonic       = 3 // of Sum

	numberAttributes      = 7 // of NumberDataPoint and SummaryDataPoint
	histogramAttributes   = 9
	exponentialAttributes = 1
	asDouble, asInt       = 4, 6 // of NumberDataPoint
	numberFlags           = 8
	pointCount, pointSum  = 4, 5 // of the others

	attributeKey, attributeValue                         = 1, 2
	stringValue, boolValue, intValue, doubleValue        = 1, 2, 3, 4
	deltaTemporality                                     = 1
	noRecordedValue                               uint64 = 1
)

// point is a data point. Its attributes are unread.
type point struct {
	name       string
	kind       metricKind
	delta      bool
	monotonic  bool
	value      float64 // of numbers
	count, sum float64 // of the others
	attributes [][]byte
}

// readMetrics calls each with every data point that has a value. ErrInvalid when
// the data are no MetricsData.
func readMetrics(data []byte, each func(*point)) error {
	return messages(data, resourceMetrics, func(resource []byte) error {
		return messages(resource, scopeMetrics, func(scope []byte) error {
			return messages(scope, metrics, func(metric []byte) error { return readMetric(metric, each) })
		})
	})
}

func readMetric(metric []byte, each func(*point)) error {
	var p point
	var data []byte
	err := fields(metric, func(f field) error {
		switch number := metricKind(f.number); {
		case f.number == metricName && f.isBytes:
			p.name = string(f.bytes)
		case f.isBytes && (number == gaugeKind || number == sumKind || number >= histogramKind && number <= summaryKind):
			p.kind, data = number, f.bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = fields(data, func(f field) error {
		switch {
		case f.number == temporality && !f.isBytes && p.kind != summaryKind:
			p.delta = f.number64 == deltaTemporality
		case f.number == monotonic && !f.isBytes && p.kind == sumKind:
			p.monotonic = f.number64 != 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	return messages(data, dataPoints, func(raw []byte) error {
		p := p
		valued, err := p.read(raw)
		if valued && err == nil {
			each(&p)
		}
		return err
	})
}

// read reads a data point and reports whether it has a value.
func (p *point) read(raw []byte) (valued bool, err error) {
	number := p.kind == gaugeKind || p.kind == sumKind
	attributes := protowire.Number(numberAttributes)
	switch p.kind {
	case histogramKind:
		attributes = histogramAttributes
	case exponentialKind:
		attributes = exponentialAttributes
	}
	missing := false
	err = fields(raw, func(f field) error {
		switch {
		case f.number == attributes && f.isBytes:
			if len(p.attributes) <= maxLabels { // one too many tells enough
				p.attributes = append(p.attributes, f.bytes)
			}
		case f.isBytes:
		case number && f.number == asDouble:
			p.value, valued = math.Float64frombits(f.number64), true
		case number && f.number == asInt:
			p.value, valued = float64(int64(f.number64)), true
		case number && f.number == numberFlags:
			missing = f.number64&noRecordedValue != 0
		case !number && f.number == pointCount:
			p.count = float64(f.number64)
		case !number && f.number == pointSum:
			p.sum = math.Float64frombits(f.number64)
		}
		return nil
	})
	return (valued || !number) && !missing, err
}

// readAttribute reads an attribute with a plain value; ok is false for another.
func readAttribute(raw []byte) (key, value string, ok bool) {
	err := fields(raw, func(f field) error {
		switch {
		case f.number == attributeKey && f.isBytes:
			key = string(f.bytes)
		case f.number == attributeValue && f.isBytes:
			return fields(f.bytes, func(v field) error {
				ok = true
				switch {
				case v.number == stringValue && v.isBytes:
					value = string(v.bytes)
				case v.number == boolValue && !v.isBytes:
					value = strconv.FormatBool(v.number64 != 0)
				case v.number == intValue && !v.isBytes:
					value = strconv.FormatInt(int64(v.number64), 10)
				case v.number == doubleValue && !v.isBytes:
					value = strconv.FormatFloat(math.Float64frombits(v.number64), 'g', -1, 64)
				default:
					ok = false
				}
				return nil
			})
		}
		return nil
	})
	return key, value, ok && err == nil
}

// field is a field of a message: bytes, or a number of up to 64 bits.
type field struct {
	number   protowire.Number
	isBytes  bool
	bytes    []byte
	number64 uint64
}

// fields calls each with every field of a message, in wire order. An error of
// each ends it.
func fields(message []byte, each func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrInvalid, protowire.ParseError(n))
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.BytesType:
			f.isBytes = true
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.number64, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.number64, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			f.number64 = uint64(v)
		default: // groups, which OTLP has none of
			n = protowire.ConsumeFieldValue(number, kind, message)
			f.number = 0
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrInvalid, protowire.ParseError(n))
		}
		message = message[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// messages calls each with the messages of one field.
func messages(message []byte, number protowire.Number, each func([]byte) error) error {
	return fields(message, func(f field) error {
		if f.number != number || !f.isBytes {
			return nil
		}
		return each(f.bytes)
	})
}
