// Package describequorum answers DescribeQuorum (key 55), versions 0 to 2: who
// votes about the metadata of the cluster. That is this node alone.
//
// KIP-595 (v0), KIP-836 (v1: times), KIP-853 (v2: messages, directories, nodes).
package describequorum

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicadmin"
)

const (
	// metadataTopic is the log of the quorum's decisions.
	metadataTopic = "__cluster_metadata"
	// withMessages is the first version with messages, directories and nodes.
	withMessages = 2
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.DescribeQuorumResponse, code int16) { r.ErrorCode = code })

// New returns the handler. now is the clock, time.Now.
func New(node *settings.Node, now func() time.Time) handler.Handler {
	return handler.New(0, 2, shape, badRequest, describer{node, now}.describe,
		handler.Authorizes(topicadmin.ClusterCheck(kmsg.ACLOperationDescribe)))
}

type describer struct {
	node *settings.Node
	now  func() time.Time
}

func (d describer) describe(ctx context.Context, call handler.Call, req *kmsg.DescribeQuorumRequest) (*kmsg.DescribeQuorumResponse, error) {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	if !call.AllowedCluster(ctx, kmsg.ACLOperationDescribe) {
		resp.ErrorCode, resp.ErrorMessage = topicadmin.ClusterDenied.Code, topicadmin.ClusterDenied.Message
		return resp, nil
	}
	if req.Version >= withMessages {
		resp.ErrorMessage = new(string) // Kafka sends an empty one
	}
	if isQuorum(req) {
		d.fill(resp, call.Listener)
		return resp, nil
	}
	size, partitions := price(req)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("DescribeQuorum answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+partitions*partitionMemory); err != nil {
		return nil, err
	}
	refuse(resp, req)
	return resp, nil
}

// isQuorum reports whether a request asks for the one partition that there is,
// and for nothing else. Every other request is refused as a whole.
func isQuorum(req *kmsg.DescribeQuorumRequest) bool {
	return len(req.Topics) == 1 && req.Topics[0].Topic == metadataTopic &&
		len(req.Topics[0].Partitions) == 1 && req.Topics[0].Partitions[0].Partition == 0
}

// fill describes a quorum of one voter, its leader. Nothing was ever decided, so
// the log is empty, and the leader is as far as it. Its address is the one that
// the client knows, under the name that Kafka gives to such a listener.
func (d describer) fill(resp *kmsg.DescribeQuorumResponse, at handler.Listener) {
	voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	now := d.now().UnixMilli()
	voter.ReplicaID, voter.LastFetchTimestamp, voter.LastCaughtUpTimestamp = d.node.ID, now, now

	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.CurrentVoters = d.node.ID, append(p.CurrentVoters, voter)
	p.ErrorMessage = resp.ErrorMessage
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = metadataTopic, append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)

	l := kmsg.NewDescribeQuorumResponseNodeListener()
	l.Name, l.Host, l.Port = at.Protocol, at.Host, uint16(at.Port) // #nosec G115 -- a port
	n := kmsg.NewDescribeQuorumResponseNode()
	n.NodeID, n.Listeners = d.node.ID, append(n.Listeners, l)
	resp.Nodes = append(resp.Nodes, n)
}

// refuse answers every partition with UNKNOWN_TOPIC_OR_PARTITION.
func refuse(resp *kmsg.DescribeQuorumResponse, req *kmsg.DescribeQuorumRequest) {
	resp.Topics = make([]kmsg.DescribeQuorumResponseTopic, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		to.Topic, to.Partitions = from.Topic, make([]kmsg.DescribeQuorumResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			p := &to.Partitions[j]
			p.Partition, p.ErrorCode = from.Partitions[j].Partition, kerr.UnknownTopicOrPartition.Code
			p.ErrorMessage = &kerr.UnknownTopicOrPartition.Description
		}
	}
}

// partitionMemory is what a partition of the answer takes in memory beside its
// bytes on the wire.
const partitionMemory = int64(unsafe.Sizeof(kmsg.DescribeQuorumResponseTopicPartition{}))

// price is the size of a refusal as its encoder will write it, header included
// and the frame's length prefix not, and the number of its partitions.
func price(req *kmsg.DescribeQuorumRequest) (size, partitions int64) {
	layout := encoded.Flexible
	size = layout.Header() + 2 + layout.Array(len(req.Topics)) + layout.Tags()
	// Index, code, leader, epoch, high watermark, no voters, no observers.
	each := 4 + 2 + 4 + 4 + 8 + 2*layout.Array(0) + layout.Tags()
	if req.Version >= withMessages {
		size += layout.String(0) + layout.Array(0) // message, nodes
		each += layout.String(len(kerr.UnknownTopicOrPartition.Description))
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		partitions += int64(len(t.Partitions))
		size += layout.String(len(t.Topic)) + layout.Array(len(t.Partitions)) + layout.Tags()
	}
	return size + partitions*each, partitions
}
