package iggypermissions

import (
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend/iggy"
)

// rights are what a user may do with a topic.
type rights uint8

const (
	poll   rights = 1 << iota // read its messages
	send                      // write messages to it
	show                      // look at its settings
	manage                    // change and delete it
	create                    // make it

	all = poll | send | show | manage | create
)

// rule is which rights an operation on a topic takes: one of them is enough.
type rule struct {
	operation kmsg.ACLOperation
	anyOf     rights
}

// topicRules are the operations on topics. Kafka clients ask for DESCRIBE before they
// do anything with a topic, so it comes with every right to its messages.
var topicRules = []rule{
	{kmsg.ACLOperationRead, poll},
	{kmsg.ACLOperationWrite, send},
	{kmsg.ACLOperationCreate, create},
	{kmsg.ACLOperationDelete, manage},
	{kmsg.ACLOperationAlter, manage},
	{kmsg.ACLOperationDescribe, show | poll | send},
	{kmsg.ACLOperationDescribeConfigs, show},
	{kmsg.ACLOperationAlterConfigs, manage},
}

// grants is what one user may do. The zero value may nothing. It is never changed.
type grants struct {
	global  rights            // to all topics
	streams map[string]rights // to all topics of a stream
	topics  map[string]rights // to a topic, by its name to Kafka clients
	// everywhere are those to all topics that there can be, and somewhere those to at
	// least one.
	everywhere, somewhere rights

	readServers, manageServers, manageUsers bool
}

// newGrants puts together what a user may do, where it may do it. Permissions for
// streams and topics that hold nothing of Kafka's are left out.
func newGrants(user iggcon.UserInfoDetails, at iggy.Places) *grants {
	g := &grants{}
	p := user.Permissions
	if p == nil || user.Status != iggcon.Active {
		return g
	}
	g.global = globalRights(p.Global)
	g.readServers, g.manageServers = p.Global.ReadServers || p.Global.ManageServers, p.Global.ManageServers
	g.manageUsers = p.Global.ManageUsers
	g.addStreams(p.Streams, at)
	g.everywhere, g.somewhere = g.global, g.global
	if in := all; len(at.Streams) > 0 && !at.Missing {
		for _, name := range at.Streams {
			in &= g.streams[name]
		}
		g.everywhere |= in
	}
	for _, r := range g.streams {
		g.somewhere |= r
	}
	for _, r := range g.topics {
		g.somewhere |= r
	}
	return g
}

func (g *grants) addStreams(streams map[int]*iggcon.StreamPermissions, at iggy.Places) {
	g.streams, g.topics = map[string]rights{}, map[string]rights{}
	for id, stream := range streams {
		name, known := at.Streams[uint32(id)] // #nosec G115 -- the server has ids of 32 bits
		if !known || stream == nil {
			continue
		}
		g.streams[name] = streamRights(*stream)
		for topic, p := range stream.Topics {
			if name, known := at.Topics[iggy.Place{Stream: uint32(id), Topic: uint32(topic)}]; known && p != nil { // #nosec G115 -- the server has ids of 32 bits
				g.topics[name] = topicRights(*p)
			}
		}
	}
}

// What Iggy's permissions let a user do, as its server decides it: those to manage
// streams or topics let it do everything, those to read them also read messages.

func globalRights(p iggcon.GlobalPermissions) rights {
	return rightsOf(p.ManageStreams || p.ManageTopics, p.ReadStreams || p.ReadTopics, p.PollMessages, p.SendMessages)
}

func streamRights(p iggcon.StreamPermissions) rights {
	return rightsOf(p.ManageStream || p.ManageTopics, p.ReadStream || p.ReadTopics, p.PollMessages, p.SendMessages)
}

// topicRights has no right to create: the topic is there.
func topicRights(p iggcon.TopicPermissions) rights {
	return rightsOf(p.ManageTopic, p.ReadTopic, p.PollMessages, p.SendMessages) &^ create
}

func rightsOf(managed, read, polls, sends bool) (r rights) {
	if managed {
		r |= all
	}
	if read {
		r |= show | poll
	}
	if polls {
		r |= poll
	}
	if sends {
		r |= send
	}
	return r
}

// otherRule is an operation on something that is no topic, and who may do it.
type otherRule struct {
	operation kmsg.ACLOperation
	may       func(*grants) bool
	// takes says the same in words.
	takes string
}

func pollsSomewhere(g *grants) bool    { return g.somewhere&poll != 0 }
func sendsSomewhere(g *grants) bool    { return g.somewhere&send != 0 }
func sendsEverywhere(g *grants) bool   { return g.everywhere&send != 0 }
func managesEverywhere(g *grants) bool { return g.everywhere&manage != 0 }
func createsEverywhere(g *grants) bool { return g.everywhere&create != 0 }
func readsServers(g *grants) bool      { return g.readServers }
func managesServers(g *grants) bool    { return g.manageServers }

// managesAll is who could take every right: a user of Kafka's that is made with key 51
// has the rights of the Iggy user of its name.
func managesAll(g *grants) bool { return g.manageServers && g.manageUsers }

// otherRules are the operations on everything else, by type of the resource. Nobody
// but super users may do what is not there, such as CLUSTER_ACTION.
var otherRules = map[kmsg.ACLResourceType][]otherRule{
	kmsg.ACLResourceTypeGroup: {
		{kmsg.ACLOperationRead, pollsSomewhere, "poll messages of one topic at least"},
		{kmsg.ACLOperationDescribe, pollsSomewhere, "poll messages of one topic at least"},
		{kmsg.ACLOperationDescribeConfigs, pollsSomewhere, "poll messages of one topic at least"},
		{kmsg.ACLOperationDelete, managesEverywhere, "manage all topics"},
		{kmsg.ACLOperationAlterConfigs, managesEverywhere, "manage all topics"},
	},
	kmsg.ACLResourceTypeCluster: {
		{kmsg.ACLOperationDescribe, readsServers, "read_servers or manage_servers"},
		{kmsg.ACLOperationDescribeConfigs, readsServers, "read_servers or manage_servers"},
		{kmsg.ACLOperationAlterConfigs, managesServers, "manage_servers"},
		{kmsg.ACLOperationAlter, managesAll, "manage_servers and manage_users"},
		{kmsg.ACLOperationCreate, createsEverywhere, "manage all topics"},
		{kmsg.ACLOperationIdempotentWrite, sendsEverywhere, "send messages to all topics"},
	},
	kmsg.ACLResourceTypeTransactionalId: {
		{kmsg.ACLOperationDescribe, sendsSomewhere, "send messages to one topic at least"},
		{kmsg.ACLOperationWrite, sendsSomewhere, "send messages to one topic at least"},
	},
}

// topic reports whether the user may do an operation on a topic of a stream.
func (g *grants) topic(op kmsg.ACLOperation, stream, name string) bool {
	return holds(g.global|g.streams[stream]|g.topics[name], op)
}

// anyTopic reports whether there is a topic that the user may do it on, or could be.
func (g *grants) anyTopic(op kmsg.ACLOperation) bool { return holds(g.somewhere, op) }

func holds(r rights, op kmsg.ACLOperation) bool {
	for _, rule := range topicRules {
		if rule.operation == op {
			return r&rule.anyOf != 0
		}
	}
	return false
}

// other reports whether the user may do an operation on what is no topic.
func (g *grants) other(op kmsg.ACLOperation, kind kmsg.ACLResourceType) bool {
	for _, rule := range otherRules[kind] {
		if rule.operation == op {
			return rule.may(g)
		}
	}
	return false
}
