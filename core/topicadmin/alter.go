package topicadmin

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/topicconfig"
	"github.com/iggykafka/gateway/core/topicname"
)

// Resource is what AlterConfigs (33) and IncrementalAlterConfigs (44) want to
// change.
type Resource struct {
	Type    kmsg.ConfigResourceType
	Name    string
	Configs []Config
}

// Config is one key of a Resource. AlterConfigs only sets.
type Config struct {
	Name  string
	Op    kmsg.IncrementalAlterConfigOp
	Value *string
}

// Alterer changes the configs of topics.
type Alterer struct {
	Topics  backend.Topics
	Catalog *topicconfig.Catalog
	// Node is the id of the only broker.
	Node int32
	// Replace makes keys that are not named return to their default (33);
	// otherwise they stay (44).
	Replace bool
}

type identity struct {
	kind kmsg.ConfigResourceType
	name string
}

// Alter changes the resources one after another, those whose configs the caller may
// alter, and returns a fault for each.
// A fault leaves its whole resource unchanged, and the others go on. With
// validateOnly nothing is written.
func (a Alterer) Alter(ctx context.Context, call handler.Call, resources []Resource, validateOnly bool) []Fault {
	repeated := Repeated(func(yield func(identity) bool) {
		for _, r := range resources {
			if !yield(identity{r.Type, r.Name}) {
				return
			}
		}
	})
	faults := make([]Fault, len(resources))
	for i, r := range resources {
		if repeated[identity{r.Type, r.Name}] {
			faults[i] = Refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
			continue
		}
		faults[i] = a.alter(ctx, call, r, validateOnly)
	}
	return faults
}

// alter changes one resource. The checks stand in Kafka's order.
func (a Alterer) alter(ctx context.Context, call handler.Call, r Resource, validateOnly bool) Fault {
	if f := Expired(ctx); !f.OK() {
		return f
	}
	if f := checkKeys(r.Configs); !f.OK() {
		return f
	}
	if f := a.allowed(ctx, call, r); !f.OK() {
		return f
	}
	if f := checkOperations(r.Configs); !f.OK() {
		return f
	}
	switch r.Type {
	case kmsg.ConfigResourceTypeTopic:
		return a.alterTopic(ctx, r, validateOnly)
	case kmsg.ConfigResourceTypeBroker:
		return a.alterBroker(r)
	}
	return Refuse(kerr.InvalidRequest, "Unknown resource type %d", int8(r.Type))
}

// allowed asks for the right to alter the configs of a resource. Loggers are
// unknown to AlterConfigs, and brokers refuse without a message.
func (a Alterer) allowed(ctx context.Context, call handler.Call, r Resource) Fault {
	if a.Replace && r.Type == kmsg.ConfigResourceTypeBrokerLogger {
		return Fault{}
	}
	f := AllowedConfigs(ctx, call, kmsg.ACLOperationAlterConfigs, r.Type, r.Name)
	if r.Type == kmsg.ConfigResourceTypeBroker || r.Type == kmsg.ConfigResourceTypeBrokerLogger {
		f.Message = nil
	}
	return f
}

// checkKeys checks what needs no look at the resource.
func checkKeys(configs []Config) Fault {
	repeated := Repeated(func(yield func(string) bool) {
		for _, c := range configs {
			if !yield(c.Name) {
				return
			}
		}
	})
	if len(repeated) > 0 {
		return Refuse(kerr.InvalidRequest, "Error due to duplicate config keys")
	}
	var nulls []string
	for _, c := range configs {
		if c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete {
			nulls = append(nulls, c.Name)
		}
	}
	if len(nulls) > 0 {
		return Refuse(kerr.InvalidRequest, "Null value not supported for : %s", strings.Join(nulls, ", "))
	}
	return Fault{}
}

// checkOperations checks that there are such operations.
func checkOperations(configs []Config) Fault {
	for _, c := range configs {
		if c.Op < kmsg.IncrementalAlterConfigOpSet || c.Op > kmsg.IncrementalAlterConfigOpSubtract {
			return Refuse(kerr.InvalidRequest, "Unknown operation %d for config %s", int8(c.Op), c.Name)
		}
	}
	return Fault{}
}

// alterBroker: no config of the gateway can be changed while it runs, so there is
// nothing to delete either, and a deletion succeeds as it does for any name in
// Kafka. kafka-reassign-partitions --verify ends with one.
func (a Alterer) alterBroker(r Resource) Fault {
	if r.Name != "" {
		id, err := strconv.ParseInt(r.Name, 10, 32)
		switch {
		case err != nil:
			return Refuse(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", r.Name)
		case int32(id) != a.Node:
			return Refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d, but received %s", a.Node, r.Name)
		}
	}
	var names []string
	for _, c := range r.Configs {
		if c.Op != kmsg.IncrementalAlterConfigOpDelete {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return Fault{}
	}
	return Refuse(kerr.InvalidRequest, "Cannot update these configs dynamically: [%s]", strings.Join(names, ", "))
}

func (a Alterer) alterTopic(ctx context.Context, r Resource, validateOnly bool) Fault {
	if r.Name == "" {
		return Refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
	}
	if err := topicname.Check(r.Name); err != nil {
		return Refuse(kerr.InvalidTopicException, "%v", err)
	}
	changes := make([]topicconfig.Change, len(r.Configs))
	for i, c := range r.Configs {
		changes[i] = topicconfig.Change{Name: c.Name, Op: c.Op}
		if c.Value != nil {
			changes[i].Value = *c.Value
		}
	}
	change := func(present map[string]string) (map[string]string, error) {
		if a.Replace {
			present = nil
		}
		return a.Catalog.Apply(present, changes)
	}

	topic, err := a.Topics.Topic(ctx, r.Name)
	switch {
	case err != nil && !errors.Is(err, backend.ErrUnknownTopic):
		return Failed(err)
	case err != nil:
		// As in Kafka a faulty value is found before the missing topic.
		if _, refused := change(nil); refused != nil {
			err = refused
		}
	case validateOnly:
		_, err = change(topic.Overrides)
	default:
		err = a.Topics.AlterTopic(ctx, topic.ID, change)
	}

	var refused topicconfig.Error
	switch {
	case errors.As(err, &refused):
		return Refuse(kerr.InvalidConfig, "%v", refused)
	case errors.Is(err, backend.ErrUnknownTopic):
		return Refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", r.Name)
	}
	return Failed(err)
}

// CostOfAlter returns the memory that the answer about the resources takes, for
// [handler.Call.Reserve], with the copies that are made of their configs.
func CostOfAlter(resources []Resource) int64 {
	cost := Cost(func(yield func(string) bool) {
		for _, r := range resources {
			if !yield(r.Name) {
				return
			}
		}
	})
	for _, r := range resources {
		for _, c := range r.Configs {
			cost += configCost + 2*int64(len(c.Name))
			if c.Value != nil {
				cost += 2 * int64(len(*c.Value))
			}
		}
	}
	return cost
}

// configCost is the memory in bytes of a Config, its entry in the set of names
// and in the map of overrides, beyond its strings.
const configCost = 256
