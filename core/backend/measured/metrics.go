package measured

import (
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/tracing"
)

// operation is what is measured of one method. Its series are there from its
// first call on.
type operation struct {
	name, span string // "append", "backend append"
	durations  *prometheus.HistogramVec
	errs       *prometheus.CounterVec

	once     sync.Once
	observer prometheus.Observer
}

func (o *operation) duration() prometheus.Observer {
	o.once.Do(func() {
		o.observer = o.durations.WithLabelValues(o.name)
		// A counter that begins with its first failure has no rate for it, and alerts
		// do not see it.
		for _, cause := range trouble {
			o.errs.WithLabelValues(o.name, cause)
		}
	})
	return o.observer
}

func (o *operation) failed(err error) { o.errs.WithLabelValues(o.name, cause(err)).Inc() }

// operations has a field for each method that is measured.
type operations struct {
	topic, topicByID, allTopics, createTopic, deleteTopic,
	growTopic, alterTopic, append, read, available,
	bounds, findTime, findMaxTime, deleteRecords, describeProducers,
	logDir, sizes, commitOffsets, fetchOffsets, offsetGroups,
	deleteOffsets, eachGroup, saveGroup, expireOffsets, newProducerID,
	entries, changeEntries *operation
}

// newOperations names them, as the label shows them.
func newOperations(durations *prometheus.HistogramVec, errs *prometheus.CounterVec) operations {
	op := func(name string) *operation {
		return &operation{name: name, span: "backend " + name, durations: durations, errs: errs}
	}
	return operations{
		topic:             op("topic"),
		topicByID:         op("topic_by_id"),
		allTopics:         op("all_topics"),
		createTopic:       op("create_topic"),
		deleteTopic:       op("delete_topic"),
		growTopic:         op("grow_topic"),
		alterTopic:        op("alter_topic"),
		append:            op("append"),
		read:              op("read"),
		available:         op("available"),
		bounds:            op("bounds"),
		findTime:          op("find_time"),
		findMaxTime:       op("find_max_time"),
		deleteRecords:     op("delete_records"),
		describeProducers: op("describe_producers"),
		logDir:            op("log_dir"),
		sizes:             op("sizes"),
		commitOffsets:     op("commit_offsets"),
		fetchOffsets:      op("fetch_offsets"),
		offsetGroups:      op("offset_groups"),
		deleteOffsets:     op("delete_offsets"),
		eachGroup:         op("each_group"),
		saveGroup:         op("save_group"),
		expireOffsets:     op("expire_offsets"),
		newProducerID:     op("new_producer_id"),
		entries:           op("entries"),
		changeEntries:     op("change_entries"),
	}
}

// traffic is what goes in and out of the logs.
type traffic struct {
	recordsIn, bytesIn, recordsOut, bytesOut, duplicates prometheus.Counter
}

// The buckets of an operation's time, in seconds: from a look into memory to a
// server that does not answer.
var buckets = []float64{.000005, .00002, .0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30}

// New puts measuring around a backend. A nil tracer traces nothing.
func New(b backend.Backend, reg prometheus.Registerer, tracer *tracing.Tracer) (*Backend, error) {
	const ns = "kafka_gateway"
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: ns, Name: "backend_operation_duration_seconds",
		Help: "Time that an operation of the backend took, by operation.", Buckets: buckets,
	}, []string{"operation"})
	errs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: ns, Name: "backend_operation_errors_total",
		Help: "Operations of the backend that failed, by operation and cause. Many are answers to what clients ask, such as unknown_topic; unavailable, outcome_unknown, storage and other are not.",
	}, []string{"operation", "cause"})
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help})
	}
	m := &Backend{Backend: b, tracer: tracer, ops: newOperations(durations, errs), traffic: traffic{
		recordsIn:  counter("appended_records_total", "Records that were appended to logs."),
		bytesIn:    counter("appended_bytes_total", "Bytes of record batches that were appended to logs, as compressed by their producers."),
		recordsOut: counter("read_records_total", "Records in the batches that were read from logs."),
		bytesOut:   counter("read_bytes_total", "Bytes of record batches that were read from logs."),
		duplicates: counter("duplicate_batches_total", "Batches that an idempotent producer sent again and that were there already."),
	}}
	var faults []error
	for _, c := range []prometheus.Collector{
		durations, errs, m.traffic.recordsIn, m.traffic.bytesIn, m.traffic.recordsOut, m.traffic.bytesOut, m.traffic.duplicates,
	} {
		faults = append(faults, reg.Register(c))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("metrics of the backend: %w", err)
	}
	return m, nil
}
