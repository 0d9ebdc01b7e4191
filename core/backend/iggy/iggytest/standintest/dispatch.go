package standintest

import "github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"

// handler answers one code. The server's mu is held. body.failed is what the
// request is refused with, once all of it has been read.
type handler struct {
	// anonymous says that it needs no login.
	anonymous bool
	answer    func(*Server, *conn, *reader) (status uint32, reply []byte)
}

// handlers are the codes that the stand-in knows, but for sends.
func handlers() map[uint32]handler {
	return map[uint32]handler{
		wiretest.Ping:               {true, func(*Server, *conn, *reader) (uint32, []byte) { return 0, nil }},
		wiretest.LoginUser:          {true, (*Server).login},
		wiretest.LoginWithToken:     {true, (*Server).loginWithToken},
		wiretest.LogoutUser:         {false, (*Server).logout},
		wiretest.GetUser:            {false, (*Server).getUser},
		wiretest.GetUsers:           {false, (*Server).getUsers},
		wiretest.CreateUser:         {false, (*Server).createUser},
		wiretest.DeleteUser:         {false, (*Server).deleteUser},
		wiretest.UpdateUser:         {false, (*Server).updateUser},
		wiretest.UpdatePermissions:  {false, (*Server).updatePermissions},
		wiretest.ChangePassword:     {false, (*Server).changePassword},
		wiretest.CreateToken:        {false, (*Server).createToken},
		wiretest.GetStats:           {false, (*Server).getStats},
		wiretest.GetClusterMetadata: {false, (*Server).getClusterMetadata},
		wiretest.GetMe:              {false, (*Server).getMe},
		wiretest.GetClients:         {false, (*Server).getClients},
		wiretest.GetStream:          {false, (*Server).getStream},
		wiretest.GetStreams:         {false, (*Server).getStreams},
		wiretest.CreateStream:       {false, (*Server).createStream},
		wiretest.UpdateStream:       {false, (*Server).updateStream},
		wiretest.DeleteStream:       {false, (*Server).deleteStream},
		wiretest.GetTopic:           {false, (*Server).getTopic},
		wiretest.GetTopics:          {false, (*Server).getTopics},
		wiretest.CreateTopic:        {false, (*Server).createTopic},
		wiretest.UpdateTopic:        {false, (*Server).updateTopic},
		wiretest.DeleteTopic:        {false, (*Server).deleteTopic},
		wiretest.CreatePartitions:   {false, (*Server).createPartitions},
		wiretest.DeletePartitions:   {false, (*Server).deletePartitions},
		wiretest.PollMessages:       {false, (*Server).poll},
	}
}

// execute answers a request, with mu held.
func (s *Server) execute(c *conn, r *request) (status uint32, reply []byte) {
	if r.status != 0 {
		return r.status, nil
	}
	if r.code == wiretest.SendMessages {
		return s.append(r.send), nil
	}
	h, ok := s.handlers[r.code]
	if !ok {
		return errInvalidCommand, nil
	}
	body := &reader{rest: r.body}
	if !h.anonymous && c.user == noUser {
		// Iggy takes the request apart first and refuses with what is wrong there.
		return errUnauthenticated, nil
	}
	status, reply = h.answer(s, c, body)
	if body.failed != 0 {
		return body.failed, nil
	}
	return status, reply
}

// target returns the names of the stream and the topic that a request is for,
// where it has them.
func (r *request) target() (stream, topic string) {
	body := &reader{rest: r.body}
	switch r.code {
	case wiretest.SendMessages:
		if r.send == nil {
			return "", ""
		}
		return r.send.stream.name, r.send.topic.name
	case wiretest.PollMessages:
		body.u8()
		body.identifier()
		fallthrough
	case wiretest.GetTopic, wiretest.UpdateTopic, wiretest.DeleteTopic, wiretest.CreatePartitions, wiretest.DeletePartitions:
		stream = body.identifier().name
		topic = body.identifier().name
	case wiretest.GetStream, wiretest.UpdateStream, wiretest.DeleteStream, wiretest.GetTopics:
		stream = body.identifier().name
	case wiretest.CreateTopic:
		stream = body.identifier().name
		body.take(createTopicNumbers)
		topic = body.string8()
	case wiretest.CreateStream:
		stream = body.string8()
	}
	return stream, topic
}
