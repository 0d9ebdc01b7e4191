package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	cleanedKeys    = 1000       // a compaction keeps the last record of each
	cleanedSegment = "16777216" // bytes
	deletions      = 20         // DeleteRecords requests, each of an equal part of the log
)

// cleaning measures the latency measurement's figures while the server is at
// rest, while it compacts a log of the throughput measurement's size, and while
// such a log is deleted from its start.
func cleaning(ctx context.Context, t *target, o options, put sink) error {
	topic, drop, err := freshTopic(ctx, t, 1)
	if err != nil {
		return err
	}
	defer drop()
	cl, err := t.client(kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(100_000), kgo.MaxBufferedBytes(64<<20))
	if err != nil {
		return err
	}
	defer cl.Close()
	c := &cleaned{target: t, topic: topic, client: cl, admin: kadm.NewClient(cl)}
	during := func(what string) error {
		cpu, begin := t.cpu(), time.Now()
		err := latency(ctx, t, o, func(figure, unit string, v float64) { put(figure+", "+what, unit, v) })
		if t.pid != 0 {
			put("server CPU a second, "+what, "ms", float64((t.cpu()-cpu).Milliseconds())/time.Since(begin).Seconds())
		}
		return err
	}
	if err := c.set(ctx, "cleanup.policy", "delete", "segment.bytes", cleanedSegment); err != nil {
		return err
	}
	if err := c.fill(ctx, o.bytes); err != nil {
		return err
	}
	if err := during("nothing else"); err != nil {
		return err
	}
	if err := c.set(ctx, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01"); err != nil {
		return err
	}
	before := c.size(ctx)
	if err := during("while a log is compacted"); err != nil {
		return err
	}
	put("compacted meanwhile", "MB", float64(before-c.size(ctx))/1e6)
	if err := c.set(ctx, "cleanup.policy", "delete"); err != nil {
		return err
	}
	if err := c.fill(ctx, o.bytes); err != nil {
		return err
	}
	deleted := make(chan error, 1)
	go func() { deleted <- c.delete(ctx, o.duration) }()
	err = during("while records are deleted")
	if failed := <-deleted; failed != nil {
		return failed
	}
	return err
}

// cleaned is a log that is cleaned.
type cleaned struct {
	*target
	topic  string
	client *kgo.Client
	admin  *kadm.Client
}

// set changes configs, given as keys and values.
func (c *cleaned) set(ctx context.Context, pairs ...string) error {
	var changes []kadm.AlterConfig
	for i := 0; i < len(pairs); i += 2 {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: pairs[i], Value: &pairs[i+1]})
	}
	done, err := c.admin.AlterTopicConfigs(ctx, changes, c.topic)
	if err != nil {
		return err
	}
	for _, d := range done {
		if d.Err != nil {
			return fmt.Errorf("configs of %s: %w", d.Name, d.Err)
		}
	}
	return nil
}

// fill writes so many bytes of records of 1 KiB under few keys.
func (c *cleaned) fill(ctx context.Context, bytes int64) error {
	value := make([]byte, 1<<10)
	failed := make(chan error, 1)
	for i := range bytes >> 10 {
		key := fmt.Sprint("key-", i%cleanedKeys)
		c.client.Produce(ctx, &kgo.Record{Key: []byte(key), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := c.client.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// size is what the log takes on the server's disk, or 0.
func (c *cleaned) size(ctx context.Context) (n int64) {
	var topics kadm.TopicsSet
	topics.Add(c.topic, 0)
	dirs, err := c.admin.DescribeAllLogDirs(ctx, topics)
	if err != nil {
		return 0
	}
	dirs.Each(func(d kadm.DescribedLogDir) { n += d.Size() })
	return n
}

// delete deletes the log part by part, spread over a time.
func (c *cleaned) delete(ctx context.Context, over time.Duration) error {
	starts, err := c.admin.ListStartOffsets(ctx, c.topic)
	if err != nil {
		return err
	}
	ends, err := c.admin.ListEndOffsets(ctx, c.topic)
	if err != nil {
		return err
	}
	start, _ := starts.Lookup(c.topic, 0)
	end, _ := ends.Lookup(c.topic, 0)
	tick := time.NewTicker(max(over/deletions, time.Millisecond))
	defer tick.Stop()
	for i := int64(1); i <= deletions; i++ {
		var to kadm.Offsets
		to.Add(kadm.Offset{Topic: c.topic, At: start.Offset + (end.Offset-start.Offset)*i/deletions})
		if _, err := c.admin.DeleteRecords(ctx, to); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
