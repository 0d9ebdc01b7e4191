package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// roundTrip measures small requests on one connection, one after another.
func roundTrip(ctx context.Context, t *target, o options, put sink) error {
	topic, drop, err := freshTopic(ctx, t, 1)
	if err != nil {
		return err
	}
	defer drop()
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 12
	metadata.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Version, heartbeat.Group, heartbeat.MemberID = 4, "bench-nobody", "bench"
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "bench", "1"
	coordinator := kmsg.NewPtrFindCoordinatorRequest()
	coordinator.Version, coordinator.CoordinatorKeys = 4, []string{"bench"}
	fetch := kmsg.NewPtrFetchRequest() // of a log that has nothing, without waiting
	fetch.Version, fetch.MaxWaitMillis, fetch.MaxBytes = 11, 0, 1<<20
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{{CurrentLeaderEpoch: -1, PartitionMaxBytes: 1 << 20}}}}

	for _, req := range []kmsg.Request{versions, metadata, coordinator, heartbeat, fetch} {
		if err := roundTripOf(ctx, t, o.requests, req, put); err != nil {
			return fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)
		}
	}
	return nil
}

func roundTripOf(ctx context.Context, t *target, n int, req kmsg.Request, put sink) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for range n / 10 { // warm up
		if _, err := c.Call(req); err != nil {
			return err
		}
	}
	us, cpu := make([]float64, 0, n), t.cpu()
	for range n {
		begin := time.Now()
		if _, err := c.Call(req); err != nil {
			return err
		}
		us = append(us, float64(time.Since(begin).Nanoseconds())/1e3)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	name := "round trip " + kmsg.NameForKey(req.Key())
	put(name+" p50", "µs", percentile(us, 0.5))
	put(name+" p99", "µs", percentile(us, 0.99))
	if t.pid != 0 {
		put(name+" server CPU", "µs", float64((t.cpu()-cpu).Microseconds())/float64(n))
	}
	return nil
}
