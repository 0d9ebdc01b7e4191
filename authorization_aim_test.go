package gateway_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/core/record/recordtest"
	"github.com/iggykafka/gateway/internal/rawclient"
)

// target is what requests are about.
type target struct {
	topic, group, transaction string
	id                        [16]byte // of the topic
}

// hidden is there and not to be seen; absent is not there. Their names have the
// same lengths, so that answers about them can be compared byte by byte.
var (
	hidden = target{topic: "hidden-topic", group: "hidden-group", transaction: "hidden-transaction"}
	absent = target{topic: "absent-topic", group: "absent-group", transaction: "absent-transaction"}
)

// aimed returns requests of a version about a target: with one element in each
// list and with three.
func (a target) aimed(h handler.Handler, version int16) []kmsg.Request {
	requests := handlertest.Legal(h, version)[1:3]
	for _, req := range requests {
		a.aim(reflect.ValueOf(req).Elem(), "")
		named(req)
	}
	return requests
}

// named takes the ids out where a topic has a name or an id, and not both.
func named(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		for i := range r.Topics {
			r.Topics[i].TopicID = [16]byte{}
		}
	case *kmsg.DeleteTopicsRequest:
		for i := range r.Topics {
			r.Topics[i].TopicID = [16]byte{}
		}
	}
}

// texts are the fields that name something, by what they name.
func (a target) text(field string) (string, bool) {
	switch field {
	case "Topic", "Topics", "TopicNames", "ResourceName":
		return a.topic, true
	case "Group", "Groups", "CoordinatorKey", "CoordinatorKeys":
		return a.group, true
	case "TransactionalIDs":
		return a.transaction, true
	}
	return "", false
}

// numbers are fields that make a request about the target reasonable.
var numbers = map[string]int64{
	"Partition": 0, "Partitions": 0, "Acks": -1, "CoordinatorType": 0, "EndpointType": 1, "ElectionType": 0, "ReplicaID": -1,
	"SessionID": 0, "SessionEpoch": -1, "MaxWaitMillis": 0, "TimeoutMillis": 5000, "CurrentLeaderEpoch": -1, "LeaderEpoch": 0,
	"ResponsePartitionLimit": 100, "ResourceType": int64(kmsg.ConfigResourceTypeTopic),
}

func (a target) aim(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Version" && name != "UnknownTags" {
				a.aim(v.Field(i), name)
			}
		}
	case reflect.Pointer:
		if field == "TransactionalID" || field == "TransactionID" || field == "Cursor" {
			v.SetZero() // no transaction; the first page
		} else if !v.IsNil() {
			a.aim(v.Elem(), field)
		}
	case reflect.Slice:
		if field == "StatesFilter" || field == "TypesFilter" {
			v.SetZero() // groups in any state
		}
		for i := range v.Len() {
			a.aim(v.Index(i), field)
		}
	case reflect.String:
		if text, ok := a.text(field); ok {
			v.SetString(text)
		}
	case reflect.Array:
		if field == "TopicID" || field == "TopicIDs" {
			v.Set(reflect.ValueOf(a.id).Convert(v.Type()))
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n, ok := numbers[field]; ok {
			v.SetInt(n)
		}
	}
}

// administrator may do everything, makes what is hidden and looks at it.
type administrator struct {
	t    *testing.T
	conn *rawclient.Conn
}

func (a administrator) call(version int16, req kmsg.Request) kmsg.Response {
	a.t.Helper()
	req.SetVersion(version)
	resp, err := a.conn.Call(req)
	require.NoErrorf(a.t, err, "%s", kmsg.NameForKey(req.Key()))
	return resp
}

// prepare makes the hidden topic and the hidden group, where they are not there.
func (a administrator) prepare() target {
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = hidden.topic, 2, 1
	create.TimeoutMillis, create.Topics = 5000, append(create.Topics, topic)
	a.call(7, create)

	look := kmsg.NewPtrMetadataRequest()
	look.Topics = []kmsg.MetadataRequestTopic{{Topic: &hidden.topic}}
	found := a.call(12, look).(*kmsg.MetadataResponse).Topics[0]
	require.Zero(a.t, found.ErrorCode)

	produce := kmsg.NewPtrProduceRequest()
	produce.Acks, produce.TimeoutMillis = -1, 5000
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: hidden.topic, Partitions: []kmsg.ProduceRequestTopicPartition{{
		Records: recordtest.Values("secret").From(77, 0, 0).Bytes(),
	}}}}
	a.call(9, produce)

	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group, commit.Generation = hidden.group, -1
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: hidden.topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1, LeaderEpoch: -1}}}}
	require.Zero(a.t, a.call(8, commit).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)

	here := hidden
	here.id = found.TopicID
	return here
}

// store is everything that a request could have changed, as text.
func (a administrator) store() string {
	configs := kmsg.NewPtrDescribeConfigsRequest()
	configs.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: hidden.topic}}
	ends := kmsg.NewPtrListOffsetsRequest()
	ends.ReplicaID = -1
	ends.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: hidden.topic}}
	for _, at := range []int64{-2, -1} { // the start, the end
		for partition := range int32(2) {
			ends.Topics[0].Partitions = append(ends.Topics[0].Partitions, kmsg.ListOffsetsRequestTopicPartition{Partition: partition, Timestamp: at})
		}
	}
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: hidden.topic, Partitions: []int32{0, 1}}}
	offsets := kmsg.NewPtrOffsetFetchRequest()
	offsets.Group = hidden.group
	group := kmsg.NewPtrDescribeGroupsRequest()
	group.Groups = []string{hidden.group}

	var all bytes.Buffer
	for _, ask := range []struct {
		version int16
		req     kmsg.Request
	}{
		{12, kmsg.NewPtrMetadataRequest()}, {4, configs}, {5, ends}, {0, producers}, {7, offsets}, {5, group},
		{4, kmsg.NewPtrListGroupsRequest()}, {0, kmsg.NewPtrDescribeTransactionsRequest()},
	} {
		text, err := json.Marshal(a.call(ask.version, ask.req))
		require.NoError(a.t, err)
		all.Write(text)
		all.WriteByte('\n')
	}
	return all.String()
}
