package standintest

func (st *stream) describe(w *writer) {
	var size, messages uint64
	topics := st.topics.all()
	for _, t := range topics {
		tSize, tMessages := t.totals()
		size, messages = size+tSize, messages+tMessages
	}
	w.u32(st.id)
	w.u64(st.created.now)
	w.u32(uint32(len(topics)))
	w.u64(size)
	w.u64(messages)
	w.string8(st.name)
}

// getStream answers with nothing for a stream that is not there.
func (s *Server) getStream(_ *conn, body *reader) (uint32, []byte) {
	st := s.stream(body.identifier())
	if st == nil {
		return 0, nil
	}
	var w writer
	st.describe(&w)
	for _, t := range st.topics.all() {
		t.describe(&w)
	}
	return 0, w
}

func (s *Server) getStreams(*conn, *reader) (uint32, []byte) {
	var w writer
	for _, st := range s.streams.all() {
		st.describe(&w)
	}
	return 0, w
}

func (s *Server) createStream(_ *conn, body *reader) (uint32, []byte) {
	name := body.name()
	if body.failed != 0 {
		return body.failed, nil
	}
	if s.streamNamed(name) != nil {
		return errStreamExists, nil
	}
	st := &stream{name: name, created: stamp()}
	st.id = s.streams.add(st)
	var w writer
	st.describe(&w)
	return 0, w
}

func (s *Server) updateStream(_ *conn, body *reader) (uint32, []byte) {
	at, name := body.identifier(), body.name()
	if body.failed != 0 {
		return body.failed, nil
	}
	st := s.stream(at)
	if st == nil {
		return errStreamNotFound, nil
	}
	if other := s.streamNamed(name); other != nil && other != st {
		return errStreamExists, nil
	}
	st.name = name
	return 0, nil
}

func (s *Server) deleteStream(_ *conn, body *reader) (uint32, []byte) {
	at := body.identifier()
	if body.failed != 0 {
		return body.failed, nil
	}
	st := s.stream(at)
	if st == nil {
		return errStreamNotFound, nil
	}
	s.streams.remove(st.id)
	return 0, nil
}
