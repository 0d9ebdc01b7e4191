package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// latency sends records of 1 KiB at a fixed rate and measures the time from the
// call of the producer to the record's arrival at a consumer.
func latency(ctx context.Context, t *target, o options, put sink) error {
	topic, drop, err := freshTopic(ctx, t, 1)
	if err != nil {
		return err
	}
	defer drop()
	consumer, err := t.client(kgo.ConsumeTopics(topic), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer consumer.Close()
	producer, err := t.client(kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer producer.Close()

	n := int(o.duration.Seconds() * float64(o.rate))
	if n == 0 {
		return fmt.Errorf("no records in %v at %d a second", o.duration, o.rate)
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration+30*time.Second)
	defer cancel()
	took := make(chan []float64, 1)
	failed := make(chan error, 2)
	go func() {
		var ms []float64
		for len(ms) < n {
			fetches := consumer.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				failed <- err
				return
			}
			now := time.Now().UnixNano()
			fetches.EachRecord(func(r *kgo.Record) {
				ms = append(ms, float64(now-int64(binary.BigEndian.Uint64(r.Value)))/1e6)
			})
		}
		took <- ms
	}()

	// Records are due at fixed times: a stall shows in every record that it
	// delays, not only in the one that met it.
	begin, gap := time.Now(), time.Second/time.Duration(o.rate)
	for i := range n {
		due := begin.Add(time.Duration(i) * gap)
		time.Sleep(time.Until(due))
		value := make([]byte, 1<<10)
		binary.BigEndian.PutUint64(value, uint64(due.UnixNano()))
		producer.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	select {
	case err := <-failed:
		return err
	case ms := <-took:
		for _, p := range []float64{0.5, 0.99, 0.999} {
			put(fmt.Sprintf("end to end p%v at %d/s", p*100, o.rate), "ms", percentile(ms, p))
		}
		return nil
	}
}
