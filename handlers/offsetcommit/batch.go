package offsetcommit

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
)

// topicIDs is the first version that names topics by id (KIP-848).
const topicIDs = 10

// batch holds the partitions that nothing has refused so far: what to store,
// and where the code of each goes in the response.
type batch struct {
	commits []backend.Commit
	codes   []*int16
}

// refuse gives every partition that is left the code.
func (b *batch) refuse(code int16) {
	for _, c := range b.codes {
		*c = code
	}
}

// keep refuses the partitions that do not pass with the code, and keeps the
// others.
func (b *batch) keep(passes func(*backend.Commit) bool, code int16) {
	n := 0
	for i := range b.commits {
		if !passes(&b.commits[i]) {
			*b.codes[i] = code
			continue
		}
		b.commits[n], b.codes[n] = b.commits[i], b.codes[i]
		n++
	}
	b.commits, b.codes = b.commits[:n], b.codes[:n]
}

// outline returns a response that names every partition of the request with
// code 0, and how many there are.
func outline(req *kmsg.OffsetCommitRequest) (resp *kmsg.OffsetCommitResponse, partitions int) {
	resp = kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		to.Topic, to.TopicID = from.Topic, from.TopicID
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			to.Partitions[j].Partition = from.Partitions[j].Partition
		}
		partitions += len(from.Partitions)
	}
	return resp, partitions
}

// cost is the memory that a commit takes, in bytes. The key of each partition has the
// group's name in it.
func cost(req *kmsg.OffsetCommitRequest, partitions int) int64 {
	sum := int64(partitions) * (partitionMemory + textCopies*int64(len(req.Group)))
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			if metadata := req.Topics[i].Partitions[j].Metadata; metadata != nil {
				sum += textCopies * int64(len(*metadata))
			}
		}
	}
	return sum
}

func refuseAll(resp *kmsg.OffsetCommitResponse, code int16) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			resp.Topics[i].Partitions[j].ErrorCode = code
		}
	}
}

// resolve finds the topics, one look-up each, and returns the partitions that
// exist; the others get their code in resp.
func (c committer) resolve(ctx context.Context, call handler.Call, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, partitions int) *batch {
	b := &batch{
		commits: make([]backend.Commit, 0, partitions),
		codes:   make([]*int16, 0, partitions),
	}
	now := time.Now()
	for i := range req.Topics {
		topic, code := c.topic(ctx, call, req.Version, &req.Topics[i])
		for j := range req.Topics[i].Partitions {
			p, to := &req.Topics[i].Partitions[j], &resp.Topics[i].Partitions[j].ErrorCode
			switch {
			case code != 0:
				*to = code
			case p.Partition < 0 || p.Partition >= topic.Partitions:
				*to = kerr.UnknownTopicOrPartition.Code
			default:
				b.commits = append(b.commits, commitOf(&topic, p, now))
				b.codes = append(b.codes, to)
			}
		}
	}
	return b
}

// topic looks a topic up by what the version names it by.
// A name is looked up only after the authorizer was asked; an id, which is no
// secret, has to be looked up to ask.
func (c committer) topic(ctx context.Context, call handler.Call, version int16, named *kmsg.OffsetCommitRequestTopic) (backend.Topic, int16) {
	if version < topicIDs {
		if !topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationRead, named.Topic) {
			return backend.Topic{}, kerr.TopicAuthorizationFailed.Code
		}
		topic, err := c.store.Topic(ctx, named.Topic)
		return topic, errcode.Offsets(err)
	}
	topic, err := c.store.TopicByID(ctx, named.TopicID)
	switch {
	case errors.Is(err, backend.ErrUnknownTopic):
		return topic, kerr.UnknownTopicID.Code
	case err == nil && !topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationRead, topic.Name):
		return topic, kerr.TopicAuthorizationFailed.Code
	}
	return topic, errcode.Offsets(err)
}

// commitOf is what to store for a partition. Null metadata is kept as "".
func commitOf(topic *backend.Topic, p *kmsg.OffsetCommitRequestTopicPartition, now time.Time) backend.Commit {
	commit := backend.Commit{
		Partition:       backend.Partition{Topic: topic.ID, Index: p.Partition},
		CommittedOffset: backend.CommittedOffset{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, CommitTime: now},
	}
	if p.Metadata != nil {
		commit.Metadata = *p.Metadata
	}
	return commit
}
