package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
)

// Users is the part of a Client that knows the users of the server. Errors as Poll;
// code 41 when the gateway's own user may not ask, which takes the permission
// read_users.
type Users interface {
	// User returns a user, and what it may do; ErrNoUser.
	User(ctx context.Context, name string) (iggcon.UserInfoDetails, error)
	// UserNames returns the names of all users.
	UserNames(ctx context.Context) ([]string, error)
	// Stream returns a stream; code 1009 when there is none.
	Stream(ctx context.Context, name string) (iggcon.Stream, error)
	// CheckPassword logs in as a user, on a connection of its own that is closed at
	// once: ErrWrongPassword, also for a user that is not there or whose name is a
	// number, and ErrInactive. Any
	// other error means that it could not be found out, at the latest when ctx ends or
	// Config.ConnectTimeout is over. A login costs the server some 30 ms of a shard,
	// and a little less where there is no such user.
	CheckPassword(ctx context.Context, name, password string) error
}

var _ Users = (*Client)(nil)

var (
	// ErrNoUser: the server has no user of that name.
	ErrNoUser = errors.New("no such user of the Iggy server")
	// ErrWrongPassword: there is no such user, or it has another password.
	ErrWrongPassword = errors.New("the Iggy server has no user of this name and password")
	// ErrInactive: the user may not log in. The server says so for any password.
	ErrInactive = errors.New("the user is inactive in the Iggy server")
)

// User is Users.
func (c *Client) User(ctx context.Context, name string) (iggcon.UserInfoDetails, error) {
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		return iggcon.UserInfoDetails{}, ErrNoUser // no user has such a name
	}
	var found *iggcon.UserInfoDetails
	err = c.read(ctx, c.admin, opGetUser, func(sdk iggcon.Client) (err error) {
		found, err = sdk.GetUser(id)
		return err
	})
	switch {
	case Code(err) == ierror.ResourceNotFoundCode:
		return iggcon.UserInfoDetails{}, ErrNoUser
	case err != nil:
		return iggcon.UserInfoDetails{}, err
	}
	return *found, nil
}

// UserNames is Users.
func (c *Client) UserNames(ctx context.Context) ([]string, error) {
	var users []iggcon.UserInfo
	err := c.read(ctx, c.admin, opGetUsers, func(sdk iggcon.Client) (err error) {
		users, err = sdk.GetUsers()
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(users))
	for i, u := range users {
		names[i] = u.Username
	}
	return names, nil
}

// Stream is Users.
func (c *Client) Stream(ctx context.Context, name string) (iggcon.Stream, error) {
	return c.stream(ctx, name)
}

// CheckPassword is Users. It goes past the pool and the SDK: a connection that has
// logged in as somebody else must not be used for anything.
func (c *Client) CheckPassword(ctx context.Context, name, password string) error {
	if len(name) == 0 || len(name) > maxName || len(password) == 0 || len(password) > maxName {
		return ErrWrongPassword // the protocol has no room for it
	}
	if isNumber(name) {
		return ErrWrongPassword
	}
	if !c.Up() {
		return unavailable(errAway)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	began := time.Now()
	status, err := c.tryLogin(ctx, name, password)
	c.metrics.took(opCheckPassword, time.Since(began))
	switch {
	case ctx.Err() != nil:
		return unavailable(fmt.Errorf("%w: %w", errDeadline, ctx.Err()))
	case err != nil:
		return unavailable(err)
	}
	switch code := ierror.Code(status); code {
	case 0:
		return nil
	case ierror.InvalidCredentialsCode, ierror.InvalidUsernameCode, ierror.InvalidPasswordCode:
		return ErrWrongPassword
	case ierror.UserInactiveCode:
		return ErrInactive
	default:
		return unavailable(ierror.FromCode(code))
	}
}

// isNumber reports whether the server reads a name as the number of a user, as it does
// at logins: the user 7 could log in with its password as "007" and "+07", and be
// somebody of that name here. So nobody logs in by a number, also not a user whose name
// is one, of whom the server at a login does not know either.
func isNumber(name string) bool {
	digits := strings.TrimPrefix(name, "+")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// tryLogin makes one login and returns the status of its reply. The connection ends
// with ctx.
func (c *Client) tryLogin(ctx context.Context, name, password string) (status uint32, err error) {
	server, raw, err := dial(ctx, c.cfg.Address, c.tls)
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer func() {
		stop()
		_ = raw.SetDeadline(time.Now().Add(farewell))
		_ = server.Close()
	}()
	return askLogin(server, name, password)
}

// farewell is how long the end of a connection may take over TLS, which says goodbye.
const farewell = 100 * time.Millisecond

// maxLoginReply bounds the body of the reply to a login, in bytes: it has the user's
// number.
const maxLoginReply = 1 << 10

// askLogin sends the request of a login and reads the reply, all of it: the server logs
// an error for a connection that is closed before. The request is
//
//	u8 length, name · u8 length, password · u32 length, version · u32 length, context
func askLogin(server net.Conn, name, password string) (status uint32, err error) {
	size := 1 + len(name) + 1 + len(password) + 4 + len(iggcon.Version) + 4
	b := frame(codeLogin, size)
	b = append(append(b, byte(len(name))), name...)
	b = append(append(b, byte(len(password))), password...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(iggcon.Version))), iggcon.Version...)
	b = binary.LittleEndian.AppendUint32(b, 0)
	_, err = server.Write(b)
	clear(b) // it holds a password
	if err != nil {
		return 0, fmt.Errorf("to the Iggy server: %w", err)
	}
	var head [headerBytes]byte
	if _, err := io.ReadFull(server, head[:]); err != nil {
		return 0, fmt.Errorf("from the Iggy server: %w", err)
	}
	status, rest := replyHeader(head[:])
	if rest > maxLoginReply {
		return 0, fmt.Errorf("%w: %d bytes for a login", ErrReplyTooLarge, rest)
	}
	if _, err := io.CopyN(io.Discard, server, rest); err != nil {
		return 0, fmt.Errorf("from the Iggy server: %w", err)
	}
	return status, nil
}
