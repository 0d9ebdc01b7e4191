package standintest

import "math"

const (
	// maxPartitions is the most that one request makes.
	maxPartitions = 1000
	// createTopicNumbers is the length of what is between the stream and the name
	// in a CreateTopic: partitions, compression, expiry, size, replication.
	createTopicNumbers = 4 + 1 + 8 + 8 + 1
)

// totals are the bytes and the messages of a topic.
func (t *topic) totals() (size, messages uint64) {
	for _, p := range t.partitions {
		size += p.size
		messages += uint64(len(p.messages))
	}
	return size, messages
}

func (t *topic) describe(w *writer) {
	size, messages := t.totals()
	w.u32(t.id)
	w.u64(t.created.now)
	w.u32(uint32(len(t.partitions)))
	w.u64(t.expiry)
	w.u8(t.compression)
	w.u64(t.maxSize)
	w.u8(t.replication)
	w.u64(size)
	w.u64(messages)
	w.string8(t.name)
}

func (t *topic) describeAll(w *writer, segments uint32) {
	t.describe(w)
	for id, p := range t.partitions {
		w.u32(uint32(id))
		w.u64(p.created.now)
		w.u32(segments)
		w.u64(p.current())
		w.u64(p.size)
		w.u64(uint64(len(p.messages)))
	}
}

// getTopic answers with nothing for a topic, or a stream, that is not there.
func (s *Server) getTopic(_ *conn, body *reader) (uint32, []byte) {
	_, t, status := s.find(body.identifier(), body.identifier())
	if status != 0 {
		return 0, nil
	}
	var w writer
	t.describeAll(&w, 1)
	return 0, w
}

func (s *Server) getTopics(_ *conn, body *reader) (uint32, []byte) {
	st := s.stream(body.identifier())
	if st == nil {
		return 0, nil
	}
	var w writer
	for _, t := range st.topics.all() {
		t.describe(&w)
	}
	return 0, w
}

// settings reads what CreateTopic and UpdateTopic have in common.
func (t *topic) settings(body *reader) (status uint32) {
	t.compression = body.u8()
	t.expiry = body.u64()
	t.maxSize = body.u64()
	t.asked = [2]uint64{t.expiry, t.maxSize}
	t.replication = max(body.u8(), 1)
	t.name = body.name()
	if body.failed == 0 && t.compression != 1 && t.compression != 2 {
		return errInvalidCommand
	}
	return body.failed
}

func (s *Server) createTopic(_ *conn, body *reader) (uint32, []byte) {
	at, count := body.identifier(), body.u32()
	t := &topic{created: stamp()}
	status := t.settings(body)
	st := s.stream(at)
	switch {
	case body.failed != 0:
		return body.failed, nil
	case count > maxPartitions:
		return errTooManyPartitions, nil
	case status != 0:
		return status, nil
	case st == nil:
		return errStreamNotFound, nil
	case t.maxSize != 0 && t.maxSize < s.options.SegmentSize:
		return errInvalidTopicSize, nil
	case st.topicNamed(t.name) != nil:
		return errTopicExists, nil
	}
	t.defaults()
	t.grow(int(count), t.created)
	t.id = st.topics.add(t)
	var w writer
	t.describeAll(&w, 0)
	return 0, w
}

// defaults sets what a new topic leaves to the server: nothing expires, and
// there is no end to its size.
func (t *topic) defaults() {
	if t.expiry == 0 {
		t.expiry = math.MaxUint64
	}
	if t.maxSize == 0 {
		t.maxSize = math.MaxUint64
	}
}

func (t *topic) grow(n int, made created) {
	for range n {
		t.partitions = append(t.partitions, newPartition(made))
	}
}

func (s *Server) updateTopic(_ *conn, body *reader) (uint32, []byte) {
	streamID, topicID := body.identifier(), body.identifier()
	var read topic
	if status := read.settings(body); status != 0 {
		return status, nil
	}
	st, t, status := s.find(streamID, topicID)
	if status != 0 {
		return status, nil
	}
	if other := st.topicNamed(read.name); other != nil && other != t {
		return errTopicExists, nil
	}
	t.name, t.compression, t.expiry = read.name, read.compression, read.expiry
	t.maxSize, t.replication, t.asked = read.maxSize, read.replication, read.asked
	return 0, nil
}

func (s *Server) deleteTopic(_ *conn, body *reader) (uint32, []byte) {
	streamID, topicID := body.identifier(), body.identifier()
	if body.failed != 0 {
		return body.failed, nil
	}
	st, t, status := s.find(streamID, topicID)
	if status == 0 {
		st.topics.remove(t.id)
	}
	return status, nil
}

func (s *Server) createPartitions(_ *conn, body *reader) (uint32, []byte) {
	streamID, topicID, count := body.identifier(), body.identifier(), body.u32()
	if body.failed != 0 {
		return body.failed, nil
	}
	if count == 0 || count > maxPartitions {
		return errTooManyPartitions, nil
	}
	_, t, status := s.find(streamID, topicID)
	if status == 0 {
		t.grow(int(count), stamp())
	}
	return status, nil
}

func (s *Server) deletePartitions(_ *conn, body *reader) (uint32, []byte) {
	streamID, topicID, count := body.identifier(), body.identifier(), body.u32()
	if body.failed != 0 {
		return body.failed, nil
	}
	if count == 0 {
		return errTooManyPartitions, nil
	}
	_, t, status := s.find(streamID, topicID)
	if status != 0 {
		return status, nil
	}
	if int(count) > len(t.partitions) {
		return errInvalidPartitions, nil
	}
	t.partitions = t.partitions[:len(t.partitions)-int(count)]
	return 0, nil
}
