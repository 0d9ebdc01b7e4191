package standintest

import "time"

// store is the state of a server. The server's mu is held in all of its methods.
type store struct {
	streams    slab[stream]
	clients    map[uint32]*conn
	lastClient uint32
	tokens     map[string]token // by the token itself
	users      slab[user]
}

func newStore() store {
	return store{clients: map[uint32]*conn{}, tokens: map[string]token{}}
}

type stream struct {
	id      uint32
	name    string
	created created
	topics  slab[topic]
}

type topic struct {
	id      uint32
	name    string
	created created
	expiry  uint64
	maxSize uint64
	// asked are expiry and maxSize as the topic was made or changed with, which is
	// what a restart finds in the state log: 0 where it was left to the server.
	asked       [2]uint64
	compression uint8
	replication uint8
	partitions  []*partition
	next        int // the partition of the next balanced send
}

// created is when something was made, in µs. A running server tells the time at
// which it began to make it; after a restart it is the time of the entry in the
// state log, which is a little later.
type created struct{ now, logged uint64 }

// logDelay is how much later the entry in the state log is, in µs.
const logDelay = 23

func stamp() created {
	now := uint64(time.Now().UnixMicro())
	return created{now: now, logged: now + logDelay}
}

// restore does what a start does to the state.
func (s *store) restore() {
	for secret, t := range s.tokens {
		if t.expired() {
			delete(s.tokens, secret)
		}
	}
	for _, st := range s.streams.all() {
		st.created.now = st.created.logged
		for _, t := range st.topics.all() {
			t.created.now = t.created.logged
			t.expiry, t.maxSize = t.asked[0], t.asked[1]
			for _, p := range t.partitions {
				p.created.now = p.created.logged
				p.restore()
			}
		}
	}
}

func (s *store) loseEverywhere(n int) {
	for _, st := range s.streams.all() {
		for _, t := range st.topics.all() {
			for _, p := range t.partitions {
				p.lose(n)
			}
		}
	}
}

// slab gives out the smallest numbers, and the number that was freed last first.
type slab[T any] struct {
	entries []*T
	free    []uint32
}

func (s *slab[T]) add(v *T) uint32 {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		s.entries[id] = v
		return id
	}
	s.entries = append(s.entries, v)
	return uint32(len(s.entries) - 1)
}

func (s *slab[T]) get(id uint32) *T {
	if uint64(id) >= uint64(len(s.entries)) {
		return nil
	}
	return s.entries[id]
}

func (s *slab[T]) remove(id uint32) {
	s.entries[id] = nil
	s.free = append(s.free, id)
}

// all returns the entries in the order of their numbers.
func (s *slab[T]) all() []*T {
	var all []*T
	for _, v := range s.entries {
		if v != nil {
			all = append(all, v)
		}
	}
	return all
}

func (s *store) stream(at identifier) *stream {
	if at.numeric {
		return s.streams.get(at.number)
	}
	return s.streamNamed(at.name)
}

func (s *store) streamNamed(name string) *stream {
	for _, st := range s.streams.all() {
		if st.name == name {
			return st
		}
	}
	return nil
}

func (st *stream) topic(at identifier) *topic {
	if at.numeric {
		return st.topics.get(at.number)
	}
	return st.topicNamed(at.name)
}

func (st *stream) topicNamed(name string) *topic {
	for _, t := range st.topics.all() {
		if t.name == name {
			return t
		}
	}
	return nil
}

// find returns a stream and a topic of it, or the status that says which is
// missing.
func (s *store) find(streamID, topicID identifier) (*stream, *topic, uint32) {
	st := s.stream(streamID)
	if st == nil {
		return nil, nil, errStreamNotFound
	}
	t := st.topic(topicID)
	if t == nil {
		return nil, nil, errTopicNotFound
	}
	return st, t, 0
}
