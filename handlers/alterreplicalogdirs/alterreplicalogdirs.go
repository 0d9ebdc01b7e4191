// Package alterreplicalogdirs answers AlterReplicaLogDirs (key 34), versions 1
// to 2 (KIP-113): it moves partitions to other directories of the broker. There
// is one directory, where every partition lies already, so nothing ever moves.
// Version 2 is flexible; the layout is otherwise the same.
package alterreplicalogdirs

import (
	"context"

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
	LogDir(context.Context) (backend.LogDir, error)
}

// New returns the handler.
func New(store Store) handler.Handler {
	return handler.New(1, 2, shape, handler.CloseConnection, mover{store}.move,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationAlter)))
}

type mover struct{ store Store }

func (m mover) move(ctx context.Context, call handler.Call, req *kmsg.AlterReplicaLogDirsRequest) (*kmsg.AlterReplicaLogDirsResponse, error) {
	if err := call.Reserve(ctx, cost(req)); err != nil {
		return nil, err
	}
	if !call.AllowedCluster(ctx, kmsg.ACLOperationAlter) {
		return denied(req), nil
	}
	dir, err := m.store.LogDir(ctx)
	topics := topicadmin.NewFinder(m.store)
	resp, at := kmsg.NewPtrAlterReplicaLogDirsResponse(), places{topics: map[string]int32{}, partitions: map[place]int{}}
	for i := range req.Dirs {
		d := &req.Dirs[i]
		for j := range d.Topics {
			t := &d.Topics[j]
			for _, index := range t.Partitions {
				out := at.entry(resp, t.Topic, index)
				switch {
				case err != nil:
					out.ErrorCode = errcode.Disk(err)
				case d.Dir != dir.Path:
					out.ErrorCode = kerr.LogDirNotFound.Code
				default:
					_, _, unknown := topics.Partition(ctx, t.Topic, index)
					out.ErrorCode = errcode.Disk(unknown)
				}
			}
		}
	}
	return resp, ctx.Err()
}

// denied refuses every partition as it stands in the request, repeats too.
func denied(req *kmsg.AlterReplicaLogDirsRequest) *kmsg.AlterReplicaLogDirsResponse {
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	for i := range req.Dirs {
		for _, t := range req.Dirs[i].Topics {
			out := kmsg.AlterReplicaLogDirsResponseTopic{Topic: t.Topic}
			for _, index := range t.Partitions {
				out.Partitions = append(out.Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{
					Partition: index, ErrorCode: kerr.ClusterAuthorizationFailed.Code,
				})
			}
			resp.Topics = append(resp.Topics, out)
		}
	}
	return resp
}

// cost is the memory that the answer takes.
func cost(req *kmsg.AlterReplicaLogDirsRequest) int64 {
	partitions := 0
	for i := range req.Dirs {
		for j := range req.Dirs[i].Topics {
			partitions += 1 + len(req.Dirs[i].Topics[j].Partitions)
		}
	}
	return int64(partitions) * topicadmin.PartitionCost
}

// places finds the entries of an answer, which has one for each partition, also
// when the request names it for several directories: the last one counts.
type places struct {
	topics     map[string]int32
	partitions map[place]int
}

type place struct{ topic, partition int32 }

// entry returns the entry of a partition, a new one when there is none. It is
// valid until the next call.
func (p places) entry(resp *kmsg.AlterReplicaLogDirsResponse, topic string, index int32) *kmsg.AlterReplicaLogDirsResponseTopicPartition {
	t, seen := p.topics[topic]
	if !seen {
		t = int32(len(resp.Topics)) // #nosec G115 -- below the number of topics in a frame
		p.topics[topic] = t
		resp.Topics = append(resp.Topics, kmsg.AlterReplicaLogDirsResponseTopic{Topic: topic})
	}
	out := &resp.Topics[t]
	i, seen := p.partitions[place{t, index}]
	if !seen {
		i = len(out.Partitions)
		p.partitions[place{t, index}] = i
		out.Partitions = append(out.Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{Partition: index})
	}
	return &out.Partitions[i]
}
