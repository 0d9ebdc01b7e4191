// Package settings holds the settings that handlers are given. Each struct is a
// section of the configuration file; the tag is the key's name in it. Their
// values have been checked before anyone sees them.
package settings

import (
	"sync/atomic"
	"time"
)

// Topics is the section "topics".
type Topics struct {
	// AutoCreate lets Metadata create a topic that a client names (default true).
	AutoCreate bool `koanf:"auto_create"`
	// DefaultPartitions is the number of partitions of a topic whose creator
	// names none (default 1).
	DefaultPartitions int32 `koanf:"default_partitions"`
	// MaxNewPartitions bounds what one CreateTopics or CreatePartitions request
	// may add (default 10000).
	MaxNewPartitions int32 `koanf:"max_new_partitions"`
	// DeleteEnable allows DeleteTopics (default true).
	DeleteEnable bool `koanf:"delete_enable"`
}

// Fetch is the section "fetch".
type Fetch struct {
	// MaxBytes lowers the bytes that one Fetch asks for (default 57671680).
	MaxBytes int32 `koanf:"max_bytes"`
	// MaxWait lowers the time that one Fetch waits (default 300s).
	MaxWait time.Duration `koanf:"max_wait"`
}

// Offsets is the section "offsets".
type Offsets struct {
	// MetadataMax is the longest metadata of a committed offset, in UTF-16
	// units (default 4096; 0: only empty metadata).
	MetadataMax int `koanf:"metadata_max"`
}

// Describe bounds DescribeTopicPartitions.
type Describe struct {
	// PartitionsMax is the upper bound of ResponsePartitionLimit (default 2000;
	// key describe_partitions_max).
	PartitionsMax int32
}

// Broker lists the configs that DescribeConfigs shows for this node, by Kafka's
// names, and which of them the user's configuration set.
type Broker struct {
	Values map[string]string
	Set    map[string]bool
}

// Node is this gateway as clients see it: the only broker of its cluster.
type Node struct {
	// ID is the node id (default 1; key node_id).
	ID        int32
	addr      atomic.Pointer[address]
	listeners atomic.Pointer[[]Listener]
}

// Listener is a way into this gateway.
type Listener struct {
	// Name and Protocol are those of the configuration.
	Name, Protocol string
	// Host and Port are what its clients are told to connect to.
	Host string
	Port int32
	// Mechanisms are the ways of SASL to log in that it offers; none where nobody
	// logs in by SASL.
	Mechanisms []string
}

// Listen sets the listeners that are open. The server calls it before it accepts.
func (n *Node) Listen(listeners []Listener) { n.listeners.Store(&listeners) }

// Listeners returns them; none before Listen.
func (n *Node) Listeners() []Listener {
	if l := n.listeners.Load(); l != nil {
		return *l
	}
	return nil
}

type address struct {
	host string
	port int32
}

// Advertise sets the address that clients of the first listener are told to connect
// to. The server calls it once it listens, before it accepts.
func (n *Node) Advertise(host string, port int32) { n.addr.Store(&address{host, port}) }

// Address returns the advertised host and port, "" and −1 before Advertise.
func (n *Node) Address() (host string, port int32) {
	if a := n.addr.Load(); a != nil {
		return a.host, a.port
	}
	return "", -1
}
