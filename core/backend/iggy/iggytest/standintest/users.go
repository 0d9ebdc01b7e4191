package standintest

import (
	"strconv"
	"strings"
)

const (
	active   = 1
	inactive = 2
)

// user is one that may log in. The first is the root user, who may do everything.
type user struct {
	id             uint32
	name, password string
	status         uint8
	created        uint64
	// permissions are as they came: ten bytes, 1 for each global one, and those for
	// streams. Nil is a user without any.
	permissions []byte
}

// rootPermissions are all global ones, and none for streams.
var rootPermissions = []byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}

// Places of global permissions.
const (
	manageUsers = 2
	readUsers   = 3
)

// may reports whether the user of a connection has one of some global permissions.
func (s *Server) may(c *conn, permissions ...int) bool {
	u := s.users.get(c.user)
	for _, at := range permissions {
		if u != nil && at < len(u.permissions) && u.permissions[at] == 1 {
			return true
		}
	}
	return false
}

func (s *store) user(at identifier) *user {
	if at.numeric {
		return s.users.get(at.number)
	}
	return s.userNamed(at.name)
}

// userAtLogin takes a name that is a number for that of a user, as the server does.
func (s *store) userAtLogin(name string) *user {
	if number, err := strconv.ParseUint(strings.TrimPrefix(name, "+"), 10, 32); err == nil {
		return s.users.get(uint32(number))
	}
	return s.userNamed(name)
}

func (s *store) userNamed(name string) *user {
	for _, u := range s.users.all() {
		if u.name == name {
			return u
		}
	}
	return nil
}

func (u *user) describe(w *writer) {
	w.u32(u.id)
	w.u64(u.created)
	w.u8(u.status)
	w.string8(u.name)
}

func (u *user) describeAll(w *writer) {
	u.describe(w)
	if u.permissions == nil {
		w.u8(0)
		return
	}
	w.u8(1)
	w.string32(string(u.permissions))
}

// getUser answers with nothing for a user that is not there.
func (s *Server) getUser(c *conn, body *reader) (uint32, []byte) {
	u := s.user(body.identifier())
	switch {
	case body.failed != 0:
		return body.failed, nil
	case u == nil:
		return 0, nil
	case u.id != c.user && !s.may(c, manageUsers, readUsers):
		return errUnauthorized, nil
	}
	var w writer
	u.describeAll(&w)
	return 0, w
}

func (s *Server) getUsers(c *conn, _ *reader) (uint32, []byte) {
	if !s.may(c, manageUsers, readUsers) {
		return errUnauthorized, nil
	}
	var w writer
	for _, u := range s.users.all() {
		u.describe(&w)
	}
	return 0, w
}

// permissions reads what may be left out.
func (r *reader) permissions() []byte {
	if r.u8() != 1 {
		return nil
	}
	return append([]byte{}, r.take(int(r.u32()))...)
}

func (s *Server) createUser(c *conn, body *reader) (uint32, []byte) {
	u := &user{name: body.name(), password: body.string8(), status: body.u8(), permissions: body.permissions(), created: stamp().now}
	switch {
	case body.failed != 0:
		return body.failed, nil
	case !s.may(c, manageUsers):
		return errUnauthorized, nil
	case s.userNamed(u.name) != nil:
		return errUserExists, nil
	}
	u.id = s.users.add(u)
	var w writer
	u.describeAll(&w)
	return 0, w
}

// target of a change of a user, or the status that refuses it.
func (s *Server) changeUser(c *conn, body *reader) (*user, uint32) {
	u := s.user(body.identifier())
	switch {
	case body.failed != 0:
		return nil, body.failed
	case !s.may(c, manageUsers):
		return nil, errUnauthorized
	case u == nil:
		return nil, errResourceNotFound
	}
	return u, 0
}

func (s *Server) updateUser(c *conn, body *reader) (uint32, []byte) {
	u, status := s.changeUser(c, body)
	if status != 0 {
		return status, nil
	}
	name, now := u.name, u.status
	if body.u8() == 1 {
		name = body.name()
	}
	if body.u8() == 1 {
		now = body.u8()
	}
	if other := s.userNamed(name); other != nil && other != u {
		return errUserExists, nil
	}
	if body.failed == 0 {
		u.name, u.status = name, now
	}
	return body.failed, nil
}

func (s *Server) deleteUser(c *conn, body *reader) (uint32, []byte) {
	u, status := s.changeUser(c, body)
	switch {
	case status != 0:
		return status, nil
	case u.id == rootUser:
		return errCannotDeleteUser, nil
	}
	s.users.remove(u.id)
	return 0, nil
}

func (s *Server) updatePermissions(c *conn, body *reader) (uint32, []byte) {
	u, status := s.changeUser(c, body)
	if status != 0 {
		return status, nil
	}
	permissions := body.permissions()
	switch {
	case body.failed != 0:
		return body.failed, nil
	case u.id == rootUser:
		return errCannotChangePermissions, nil
	}
	u.permissions = permissions
	return 0, nil
}

func (s *Server) changePassword(c *conn, body *reader) (uint32, []byte) {
	at, old, next := body.identifier(), body.string8(), body.string8()
	u := s.user(at)
	switch {
	case body.failed != 0:
		return body.failed, nil
	case u == nil:
		return errResourceNotFound, nil
	case u.id != c.user && !s.may(c, manageUsers):
		return errUnauthorized, nil
	case u.password != old:
		return errInvalidCredentials, nil
	}
	u.password = next
	return 0, nil
}
