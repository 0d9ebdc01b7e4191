package standintest

import (
	"crypto/rand"
	"time"
)

const (
	rootUser = 0
	// The lengths that Iggy takes.
	minUsername, maxUsername = 3, 50
	minPassword, maxPassword = 3, 100
)

// token is a personal access token.
type token struct {
	name    string
	expires time.Time // zero: never
}

func (t token) expired() bool { return !t.expires.IsZero() && time.Now().After(t.expires) }

// join lists a new connection among the clients; false when the server ended.
func (s *Server) join(c *conn) bool {
	if !s.lock(c.life) {
		return false
	}
	defer s.mu.Unlock()
	s.lastClient++
	c.id, c.user = s.lastClient, noUser
	s.clients[c.id] = c
	return true
}

// leave takes it from the list, when the server has seen to all that it asked.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c.id)
}

func (s *Server) login(c *conn, body *reader) (uint32, []byte) {
	username, password := body.name(), body.string8()
	body.take(int(body.u32())) // version
	body.take(int(body.u32())) // context
	switch {
	case body.failed != 0:
		return body.failed, nil
	case len(username) < minUsername || len(username) > maxUsername:
		return errInvalidUsername, nil
	case len(password) < minPassword || len(password) > maxPassword:
		return errInvalidPassword, nil
	}
	switch u := s.userAtLogin(username); {
	case u == nil:
		return errInvalidCredentials, nil
	case u.status == inactive:
		return errUserInactive, nil
	case u.password != password:
		return errInvalidCredentials, nil
	default:
		return s.welcome(c, u.id)
	}
}

func (s *Server) welcome(c *conn, user uint32) (uint32, []byte) {
	c.user = user
	var w writer
	w.u32(c.user)
	return 0, w
}

func (s *Server) loginWithToken(c *conn, body *reader) (uint32, []byte) {
	t, ok := s.tokens[body.string8()]
	switch {
	case body.failed != 0:
		return body.failed, nil
	case !ok:
		return errResourceNotFound, nil
	case t.expired():
		return errTokenExpired, nil
	}
	return s.welcome(c, rootUser)
}

func (s *Server) logout(c *conn, _ *reader) (uint32, []byte) {
	c.user = noUser
	return 0, nil
}

func (s *Server) createToken(_ *conn, body *reader) (uint32, []byte) {
	name, expiry := body.name(), body.u64()
	if body.failed != 0 {
		return body.failed, nil
	}
	for _, t := range s.tokens {
		if t.name == name {
			return errTokenAlreadyExists, nil
		}
	}
	made := token{name: name}
	if expiry != 0 && expiry < uint64(1<<62) {
		made.expires = time.Now().Add(time.Duration(expiry) * time.Microsecond)
	}
	secret := rand.Text()
	s.tokens[secret] = made
	var w writer
	w.string8(secret)
	return 0, w
}

func (s *Server) getMe(c *conn, _ *reader) (uint32, []byte) {
	var w writer
	c.describe(&w)
	return 0, w
}

func (s *Server) getClients(*conn, *reader) (uint32, []byte) {
	var w writer
	for _, c := range s.clients {
		c.describe(&w)
	}
	return 0, w
}

func (c *conn) describe(w *writer) {
	const tcp = 1
	w.u32(c.id)
	w.u32(c.user)
	w.u8(tcp)
	w.string32(c.RemoteAddr().String())
	w.u32(0) // consumer groups
}
