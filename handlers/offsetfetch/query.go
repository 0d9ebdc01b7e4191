package offsetfetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
)

// What a partition of the answer takes, in bytes: in memory (the wanted
// partition, the backend's map entry and the decoded value), and at least on
// the wire at any version; both without its metadata.
const (
	partitionMemory = 256
	partitionWire   = 16
)

// query answers the groups of one request.
type query struct {
	store   Store
	call    handler.Call
	version int16
	names   map[uuid.UUID]string // "": no such topic
	wire    int64                // the answer's size so far, at least
}

// group answers for one group. A Go error closes the connection; a failure of
// the backend is the group's code.
func (q *query) group(ctx context.Context, asked *kmsg.OffsetFetchRequestGroup) (kmsg.OffsetFetchResponseGroup, error) {
	answer := kmsg.NewOffsetFetchResponseGroup()
	answer.Group = asked.Group
	if err := q.pay(ctx, 0, int64(len(asked.Group))); err != nil {
		return answer, err
	}
	if !q.call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup, asked.Group) {
		answer.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return answer, nil
	}
	look := q.named
	if asked.Topics == nil {
		look = q.all
	}
	topics, err := look(ctx, asked)
	var failed *backendError
	switch {
	case errors.As(err, &failed):
		answer.ErrorCode = errcode.Offsets(failed.cause)
	case err != nil:
		return answer, err
	default:
		answer.Topics = topics
	}
	return answer, nil
}

// backendError marks a failure that the client is told.
type backendError struct{ cause error }

func (e *backendError) Error() string { return e.cause.Error() }
func (e *backendError) Unwrap() error { return e.cause }

// pay charges partitions, and the bytes of their strings, to the call.
func (q *query) pay(ctx context.Context, partitions int, strings int64) error {
	q.wire += int64(partitions)*partitionWire + strings
	if limit := int64(q.call.MaxFrame); q.wire > limit {
		return fmt.Errorf("OffsetFetch answer of at least %d bytes, max_frame_size is %d", q.wire, limit)
	}
	return q.call.Reserve(ctx, int64(partitions)*partitionMemory+strings)
}

// blank returns the answer to the topics as long as nothing is found: offset
// −1 everywhere.
func blank(asked []kmsg.OffsetFetchRequestGroupTopic, code int16) []kmsg.OffsetFetchResponseGroupTopic {
	none := "" // shared: answers are only read
	topics := make([]kmsg.OffsetFetchResponseGroupTopic, len(asked))
	for i := range asked {
		to := &topics[i]
		to.Topic, to.TopicID = asked[i].Topic, asked[i].TopicID
		to.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(asked[i].Partitions))
		for j, index := range asked[i].Partitions {
			p := &to.Partitions[j]
			p.Default()
			p.Partition, p.Offset, p.Metadata, p.ErrorCode = index, -1, &none, code
		}
	}
	return topics
}

func set(p *kmsg.OffsetFetchResponseGroupTopicPartition, c backend.CommittedOffset) {
	p.Offset, p.LeaderEpoch, p.Metadata = c.Offset, c.LeaderEpoch, &c.Metadata
}

// named answers for the partitions that the request names. Topics and
// partitions that do not exist have nothing committed, which is no error; only
// an unknown id is one.
func (q *query) named(ctx context.Context, asked *kmsg.OffsetFetchRequestGroup) ([]kmsg.OffsetFetchResponseGroupTopic, error) {
	count := 0
	for i := range asked.Topics {
		count += len(asked.Topics[i].Partitions)
	}
	if err := q.pay(ctx, count, 0); err != nil {
		return nil, err
	}
	topics := blank(asked.Topics, 0)
	wanted := make([]backend.Partition, 0, count)
	ids := make([]uuid.UUID, len(topics))
	for i := range topics {
		topic, err := q.find(ctx, &asked.Topics[i])
		switch {
		case errors.Is(err, errDenied):
			refuse(topics[i].Partitions, kerr.TopicAuthorizationFailed.Code)
			continue
		case errors.Is(err, backend.ErrUnknownTopic):
			refuse(topics[i].Partitions, q.unknownTopic())
			continue
		case err != nil:
			return nil, &backendError{err}
		}
		ids[i] = topic.ID
		for _, index := range asked.Topics[i].Partitions {
			if 0 <= index && index < topic.Partitions {
				wanted = append(wanted, backend.Partition{Topic: topic.ID, Index: index})
			}
		}
	}
	if len(wanted) == 0 { // to ask for none and to ask for all would look alike
		return topics, nil
	}
	found, err := q.store.FetchOffsets(ctx, asked.Group, wanted)
	if err != nil {
		return nil, &backendError{err}
	}
	var strings int64
	for i := range topics {
		for j := range topics[i].Partitions {
			p := &topics[i].Partitions[j]
			if c, ok := found[backend.Partition{Topic: ids[i], Index: p.Partition}]; ok {
				set(p, c)
				strings += int64(len(c.Metadata))
			}
		}
	}
	return topics, q.pay(ctx, 0, strings)
}

// errDenied marks topics that the client may not describe.
var errDenied = errors.New("not allowed to describe the topic")

// find looks a topic up by what the version names it by. A name is looked up only
// after the authorizer was asked; an id, which is no secret, has to be looked up to
// ask.
func (q *query) find(ctx context.Context, asked *kmsg.OffsetFetchRequestGroupTopic) (topic backend.Topic, err error) {
	topic.Name = asked.Topic
	if q.version >= topicIDs {
		if topic, err = q.store.TopicByID(ctx, asked.TopicID); err != nil {
			return topic, err
		}
	}
	if !q.call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic, topic.Name) {
		return topic, errDenied
	}
	if q.version >= topicIDs {
		return topic, nil
	}
	return q.store.Topic(ctx, asked.Topic)
}

func refuse(partitions []kmsg.OffsetFetchResponseGroupTopicPartition, code int16) {
	for i := range partitions {
		partitions[i].ErrorCode = code
	}
}

func (q *query) unknownTopic() int16 {
	if q.version >= topicIDs {
		return kerr.UnknownTopicID.Code
	}
	return 0
}

// all answers with everything that the group has committed, sorted by topic
// name and partition.
func (q *query) all(ctx context.Context, asked *kmsg.OffsetFetchRequestGroup) ([]kmsg.OffsetFetchResponseGroupTopic, error) {
	found, err := q.store.FetchOffsets(ctx, asked.Group, nil)
	if err != nil {
		return nil, &backendError{err}
	}
	var strings int64
	for _, c := range found {
		strings += int64(len(c.Metadata))
	}
	if err := q.pay(ctx, len(found), strings); err != nil {
		return nil, err
	}
	at := make(map[uuid.UUID]int)
	topics := []kmsg.OffsetFetchResponseGroupTopic{}
	for where, c := range found {
		name, err := q.name(ctx, where.Topic)
		if err != nil {
			return nil, &backendError{err}
		}
		if name == "" { // deleted since, or not to be shown
			continue
		}
		i, seen := at[where.Topic]
		if !seen {
			i = len(topics)
			at[where.Topic] = i
			topics = append(topics, kmsg.OffsetFetchResponseGroupTopic{Topic: name, TopicID: where.Topic})
		}
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition = where.Index
		set(&p, c)
		topics[i].Partitions = append(topics[i].Partitions, p)
	}
	slices.SortFunc(topics, func(a, b kmsg.OffsetFetchResponseGroupTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	for i := range topics {
		slices.SortFunc(topics[i].Partitions, func(a, b kmsg.OffsetFetchResponseGroupTopicPartition) int {
			return cmp.Compare(a.Partition, b.Partition)
		})
	}
	return topics, nil
}

// name returns the name of a topic, "" if there is none that the caller may
// describe. Each topic is looked up once a request.
func (q *query) name(ctx context.Context, id uuid.UUID) (string, error) {
	if name, ok := q.names[id]; ok {
		return name, nil
	}
	topic, err := q.store.TopicByID(ctx, id)
	if errors.Is(err, backend.ErrUnknownTopic) {
		topic.Name = ""
	} else if err != nil {
		return "", err
	}
	// A broker audits this, though the client is not told.
	if topic.Name != "" && !q.call.Allowed(ctx, kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic, topic.Name) {
		topic.Name = ""
	}
	if q.names == nil {
		q.names = make(map[uuid.UUID]string)
	}
	q.names[id] = topic.Name
	return topic.Name, nil
}
