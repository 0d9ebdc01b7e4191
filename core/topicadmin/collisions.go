package topicadmin

import (
	"context"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicname"
)

// Collisions finds existing topics whose names differ from a new one by dots
// and underscores only, see [topicname.Key]. It reads the list of topics once,
// when the first name needs it, and is good for one request.
type Collisions struct {
	Topics backend.Topics
	names  map[string]string // by key
}

// Find returns the existing topic that name collides with, or "". Errors are
// those of backend.Topics.AllTopics.
func (c *Collisions) Find(ctx context.Context, name string) (string, error) {
	if !topicname.CanCollide(name) {
		return "", nil
	}
	if c.names == nil {
		all, err := c.Topics.AllTopics(ctx)
		if err != nil {
			return "", err
		}
		c.names = map[string]string{}
		for i := range all {
			c.Add(all[i].Name)
		}
	}
	other := c.names[topicname.Key(name)]
	if other == name {
		return "", nil // it exists, which is another matter
	}
	return other, nil
}

// Add makes a name that was just taken known to later calls of Find.
func (c *Collisions) Add(name string) {
	if c.names != nil && topicname.CanCollide(name) {
		c.names[topicname.Key(name)] = name
	}
}
