// Package cluster holds what several handlers tell clients about the cluster:
// its id and its only broker.
package cluster

import (
	"context"
	"sync/atomic"

	"github.com/iggykafka/gateway/core/settings"
)

// IDs finds the id of the cluster; backend.Backend does.
type IDs interface {
	ClusterID(context.Context) (string, error)
}

// Cluster is one broker, which is its own controller. It is safe for
// concurrent use.
type Cluster struct {
	Node *settings.Node
	ids  IDs
	id   atomic.Pointer[string]
}

// New returns the cluster of a node, whose id ids keeps.
func New(ids IDs, node *settings.Node) *Cluster { return &Cluster{Node: node, ids: ids} }

// ID returns the cluster's id. It never changes, so the backend is asked until
// it has answered once; its error is returned as it is.
func (c *Cluster) ID(ctx context.Context) (string, error) {
	if id := c.id.Load(); id != nil {
		return *id, nil
	}
	id, err := c.ids.ClusterID(ctx)
	if err != nil {
		return "", err
	}
	c.id.Store(&id)
	return id, nil
}
