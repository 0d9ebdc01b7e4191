// Package describelogdirs answers DescribeLogDirs (key 35), versions 1 to 5
// (KIP-113): where the logs of partitions lie and how many bytes they take.
// Version 2 is flexible, v3 has a code for the whole answer, v4 the size of the
// volume (KIP-827), v5 whether a directory takes no more partitions (KIP-1066),
// which never is so.
//
// There is one directory. Null topics ask for all; what is not there is left out.
//
// # Size
//
// The answer depends on what is stored, so it is priced before sizes are asked
// for; above the frame limit the connection closes.
package describelogdirs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// Store is what the handler needs of a backend.
type Store interface {
	backend.Topics
	backend.Disk
}

// New returns the handler. A body that does not decode closes the connection:
// below v3 there is no top-level error code.
func New(store Store) handler.Handler {
	return handler.New(1, 5, shape, handler.CloseConnection, describer{store}.describe,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationDescribe)))
}

type describer struct{ store Store }

// entry is a topic of the answer, and the partitions to show, sorted.
type entry struct {
	topic      backend.Topic
	partitions []int32 // nil: all
}

// count is the number of partitions to show.
func (e *entry) count() int {
	if e.partitions == nil {
		return int(e.topic.Partitions)
	}
	return len(e.partitions)
}

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeLogDirsRequest) (*kmsg.DescribeLogDirsResponse, error) {
	if !call.AllowedCluster(ctx, kmsg.ACLOperationDescribe) { // below v3 there is no code: no directories
		resp := kmsg.NewPtrDescribeLogDirsResponse()
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil
	}
	if err := call.Reserve(ctx, askedMemory(req.Topics)); err != nil {
		return nil, err
	}
	dir, err := d.store.LogDir(ctx)
	if err != nil {
		return answer(ctx, kmsg.DescribeLogDirsResponseDir{}, err)
	}
	out := kmsg.DescribeLogDirsResponseDir{Dir: dir.Path, TotalBytes: dir.Total, UsableBytes: dir.Usable}
	entries, err := d.entries(ctx, req.Topics)
	if err != nil {
		return answer(ctx, out, err)
	}
	size := price(req.Version, dir.Path, entries)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("log directories of %d topics take %d bytes, more than max_frame_size %d", len(entries), size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+memory(entries)); err != nil {
		return nil, err
	}
	out.Topics = make([]kmsg.DescribeLogDirsResponseDirTopic, 0, len(entries))
	for i := range entries {
		sizes, err := d.store.Sizes(ctx, entries[i].topic.ID)
		if errors.Is(err, backend.ErrUnknownTopic) {
			continue // deleted meanwhile
		}
		if err != nil {
			out.Topics = nil
			return answer(ctx, out, err)
		}
		out.Topics = append(out.Topics, show(&entries[i], sizes))
	}
	return answer(ctx, out, nil)
}

// entries returns what the request asks for, as far as it is there.
func (d describer) entries(ctx context.Context, asked []kmsg.DescribeLogDirsRequestTopic) ([]entry, error) {
	if asked == nil {
		topics, err := d.store.AllTopics(ctx)
		if err != nil {
			return nil, err
		}
		entries := make([]entry, len(topics))
		for i := range topics {
			entries[i].topic = topics[i]
		}
		return entries, nil
	}
	named := map[string][]int32{}
	var names []string
	for i := range asked {
		t := &asked[i]
		if _, again := named[t.Topic]; !again {
			names = append(names, t.Topic)
		}
		named[t.Topic] = append(named[t.Topic], t.Partitions...)
	}
	var entries []entry
	for _, name := range names {
		topic, err := d.store.Topic(ctx, name)
		if errors.Is(err, backend.ErrUnknownTopic) {
			continue
		}
		if err != nil {
			return nil, err
		}
		partitions := slices.DeleteFunc(named[name], func(p int32) bool { return p < 0 || p >= topic.Partitions })
		slices.Sort(partitions)
		if partitions = slices.Compact(partitions); len(partitions) > 0 {
			entries = append(entries, entry{topic, partitions})
		}
	}
	return entries, nil
}

// show is the answer about one topic. Partitions that came or went since the
// topic was looked up are left out.
func show(e *entry, sizes []int64) kmsg.DescribeLogDirsResponseDirTopic {
	out := kmsg.DescribeLogDirsResponseDirTopic{Topic: e.topic.Name}
	out.Partitions = make([]kmsg.DescribeLogDirsResponseDirTopicPartition, 0, e.count())
	for i := range e.count() {
		index := int32(i)
		if e.partitions != nil {
			index = e.partitions[i]
		}
		if int(index) < len(sizes) {
			out.Partitions = append(out.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{Partition: index, Size: sizes[index]})
		}
	}
	return out
}

// answer answers with the directory. An error is the directory's: every version
// has room for it there. Of a client that went away nothing is left to answer.
func answer(ctx context.Context, dir kmsg.DescribeLogDirsResponseDir, err error) (*kmsg.DescribeLogDirsResponse, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	dir.ErrorCode = errcode.Disk(err)
	if err != nil {
		dir.TotalBytes, dir.UsableBytes = -1, -1
	}
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	resp.Dirs = append(resp.Dirs, dir)
	return resp, nil
}
