// Package distinct numbers the topics and the partitions that a request names, each
// once, in the order in which they first appear. A client may name one of them
// several times; Kafka's broker keeps them in maps, so that the last entry counts.
package distinct

import "github.com/google/uuid"

// Partitions numbers the topics and partitions of one request. Requests of before
// topic ids (KIP-516) name a topic by its name, later ones by its id; it is one
// topic when both are equal.
type Partitions struct {
	topics     map[topic]int // nil: the request names one partition, the usual case
	partitions map[partition]int
	nextTopic  int
	next       int
}

type topic struct {
	name string
	id   uuid.UUID
}

type partition struct {
	topic int
	index int32
}

// New returns a Partitions for a request with so many entries of topics, and of
// partitions in all.
func New(topics, partitions int) *Partitions {
	p := &Partitions{}
	if partitions > 1 {
		p.topics, p.partitions = make(map[topic]int, topics), make(map[partition]int, partitions)
	}
	return p
}

// Topic returns the number of a topic, from 0 on, and whether it is a new one.
func (p *Partitions) Topic(name string, id uuid.UUID) (number int, first bool) {
	return numbered(p.topics, topic{name, id}, &p.nextTopic)
}

// Partition returns the number of a partition of the topic with a number, and whether
// it is a new one. Partitions of all topics are numbered together, from 0 on.
func (p *Partitions) Partition(topic int, index int32) (number int, first bool) {
	return numbered(p.partitions, partition{topic, index}, &p.next)
}

// numbered returns the number of a key in a map, which may be nil for a single one.
func numbered[K comparable](numbers map[K]int, key K, next *int) (int, bool) {
	if number, seen := numbers[key]; seen {
		return number, false
	}
	number := *next
	if *next++; numbers != nil {
		numbers[key] = number
	}
	return number, true
}
