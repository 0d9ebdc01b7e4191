package metadata

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicname"
)

var noID [16]byte

// wanted identifies what an entry of a request asks for.
type wanted struct {
	name string
	id   [16]byte
}

// named returns an entry for each distinct topic of the request.
func (s server) named(ctx context.Context, call handler.Call, req *kmsg.MetadataRequest) []entry {
	if !wellFormed(req) {
		return refuse(req.Topics)
	}
	c := creation{
		allowed:    s.cfg.AutoCreate && (req.Version < 4 || req.AllowAutoTopicCreation),
		collisions: topicadmin.Collisions{Topics: s.topics},
		call:       call,
	}
	entries := make([]entry, 0, len(req.Topics))
	var seen map[wanted]bool
	if len(req.Topics) > 1 {
		seen = make(map[wanted]bool, len(req.Topics))
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		w := wanted{id: t.TopicID}
		if w.id == noID {
			w.name = *t.Topic
		}
		if seen[w] {
			continue
		}
		if seen != nil {
			seen[w] = true
		}
		if w.id != noID {
			entries = append(entries, s.byID(ctx, call, w.id))
		} else {
			entries = append(entries, s.byName(ctx, t.Topic, &c))
		}
	}
	return entries
}

// wellFormed reports whether each entry has what its version identifies a topic
// by. Ids exist in requests since version 10, but may be used only since 12.
func wellFormed(req *kmsg.MetadataRequest) bool {
	for i := range req.Topics {
		t := &req.Topics[i]
		if req.Version < 12 && t.TopicID != noID || t.Topic == nil && t.TopicID == noID {
			return false
		}
	}
	return true
}

// refuse answers INVALID_REQUEST on every entry.
func refuse(topics []kmsg.MetadataRequestTopic) []entry {
	entries := make([]entry, len(topics))
	for i := range topics {
		entries[i] = entry{name: topics[i].Topic, id: topics[i].TopicID, code: kerr.InvalidRequest.Code}
	}
	return entries
}

func found(t *backend.Topic) entry {
	return entry{name: &t.Name, id: t.ID, partitions: t.Partitions}
}

// byID answers for an id, which is no secret, but the name that belongs to it is.
func (s server) byID(ctx context.Context, call handler.Call, id [16]byte) entry {
	t, err := s.topics.TopicByID(ctx, id)
	switch {
	case errors.Is(err, backend.ErrUnknownTopic):
		return entry{id: id, code: kerr.UnknownTopicID.Code}
	case err != nil:
		return entry{id: id, code: errcode.Topics(err)}
	case !topicadmin.AllowedTopic(ctx, call, kmsg.ACLOperationDescribe, t.Name):
		return entry{id: id, code: kerr.TopicAuthorizationFailed.Code}
	}
	return found(&t)
}

func (s server) byName(ctx context.Context, name *string, c *creation) entry {
	if !topicadmin.AllowedTopic(ctx, c.call, kmsg.ACLOperationDescribe, *name) {
		return entry{name: name, code: kerr.TopicAuthorizationFailed.Code}
	}
	illegal := topicname.Check(*name) != nil
	t, err := backend.Topic{}, backend.ErrUnknownTopic
	if !illegal {
		t, err = s.topics.Topic(ctx, *name)
	}
	missing := errors.Is(err, backend.ErrUnknownTopic)
	switch {
	case missing && c.allowed && !c.mayCreate(ctx, *name):
		return entry{name: name, code: kerr.TopicAuthorizationFailed.Code}
	case illegal:
		return entry{name: name, code: kerr.InvalidTopicException.Code}
	case missing && c.allowed:
		return s.create(ctx, name, c)
	}
	if err != nil {
		return entry{name: name, code: errcode.Topics(err)}
	}
	return found(&t)
}

// creation is what one request may create.
type creation struct {
	allowed    bool
	made       int64
	collisions topicadmin.Collisions
	call       handler.Call
	// The right to create any topic is asked for once.
	asked, any bool
}

// mayCreate reports whether the caller may create a topic.
func (c *creation) mayCreate(ctx context.Context, name string) bool {
	if !c.asked {
		c.asked, c.any = true, c.call.ShownCluster(ctx, kmsg.ACLOperationCreate)
	}
	return c.any || topicadmin.AllowedTopic(ctx, c.call, kmsg.ACLOperationCreate, name)
}

// create makes a missing topic. A name that only differs from another by dots
// and underscores is illegal, as in CreateTopics.
func (s server) create(ctx context.Context, name *string, c *creation) entry {
	refused := func(code int16) entry { return entry{name: name, code: code} }
	if c.made += int64(s.cfg.DefaultPartitions); c.made > int64(s.cfg.MaxNewPartitions) {
		return refused(kerr.PolicyViolation.Code)
	}
	other, err := c.collisions.Find(ctx, *name)
	switch {
	case err != nil:
		return refused(errcode.Topics(err))
	case other != "":
		return refused(kerr.InvalidTopicException.Code)
	}

	if !c.call.Change(int(s.cfg.DefaultPartitions), true) {
		return refused(kerr.UnknownTopicOrPartition.Code) // the client asks again
	}
	t, err := s.topics.CreateTopic(ctx, backend.NewTopic{Name: *name, Partitions: s.cfg.DefaultPartitions})
	if errors.Is(err, backend.ErrTopicExists) { // somebody else was faster
		t, err = s.topics.Topic(ctx, *name)
	}
	switch {
	case errors.Is(err, backend.ErrOutcomeUnknown):
		return refused(kerr.LeaderNotAvailable.Code) // perhaps it is there soon
	case err != nil:
		return refused(errcode.Topics(err))
	}
	c.collisions.Add(*name)
	return found(&t)
}
