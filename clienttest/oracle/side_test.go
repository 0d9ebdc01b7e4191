package oracle

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/internal/rawclient"
)

// side is one of the two servers with what a stream has learnt from it.
type side struct {
	name, addr string
	clientID   string
	login      func(*rawclient.Conn) error // nil where nobody has to
	conn       *rawclient.Conn
	within     time.Duration     // an answer is waited for
	vars       map[string]any    // what captures have stored
	symbols    map[string]string // values of this side alone → what is shown instead
}

func newSide(name, addr string) *side {
	_, port, _ := net.SplitHostPort(addr)
	return &side{name: name, addr: addr, clientID: "oracle", within: patience, vars: map[string]any{}, symbols: map[string]string{port: "<port>"}}
}

// learn stores a value under a name and shows it as that name.
func (s *side) learn(name string, value any) {
	s.vars[name] = value
	if text := fmt.Sprint(value); text != "" && !reflect.ValueOf(value).IsZero() {
		s.symbols[show(reflect.ValueOf(value))] = "<" + name + ">"
	}
}

func (s *side) text(name string) string { v, _ := s.vars[name].(string); return v }
func (s *side) id(name string) [16]byte { v, _ := s.vars[name].([16]byte); return v }

// ask sends a request and returns the answer's fields by path; a connection
// that is closed instead is the single field "closed".
func (s *side) ask(t *testing.T, req kmsg.Request, capture func(*side, kmsg.Response)) map[string]string {
	t.Helper()
	if s.conn == nil {
		conn, err := rawclient.Dial(s.addr, s.clientID)
		require.NoErrorf(t, err, "%s", s.name)
		s.conn = conn
		require.NoError(t, s.conn.SetDeadline(time.Now().Add(patience)))
		if s.login != nil {
			require.NoErrorf(t, s.login(conn), "%s", s.name)
		}
	}
	require.NoError(t, s.conn.SetDeadline(time.Now().Add(s.within)))
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return s.silence(t, p)
	}
	resp, err := s.conn.Call(req)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		s.hangUp()
		return map[string]string{"connection": "closed"}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.hangUp()
		return map[string]string{"connection": "silent"}
	}
	require.NoErrorf(t, err, "%s", s.name)
	if capture != nil {
		capture(s, resp)
	}
	out := map[string]string{}
	flatten(out, "", reflect.ValueOf(resp).Elem())
	for path, value := range out {
		if symbol, ok := s.symbols[value]; ok {
			out[path] = symbol
			continue
		}
		for v, symbol := range s.symbols { // ids inside messages
			if len(v) > 8 && strings.Contains(value, strings.Trim(v, `"`)) {
				out[path] = strings.ReplaceAll(value, strings.Trim(v, `"`), symbol)
			}
		}
	}
	return out
}

// silence sends a Produce with acks=0 and tells by a second request whether the
// connection outlived it.
func (s *side) silence(t *testing.T, req *kmsg.ProduceRequest) map[string]string {
	require.NoError(t, s.conn.Send(req))
	if _, err := s.conn.Call(kmsg.NewPtrApiVersionsRequest()); err != nil {
		s.hangUp()
		return map[string]string{"connection": "closed"}
	}
	return map[string]string{"connection": "silent"}
}

func (s *side) hangUp() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// clock matches what a message says of the present time, in ms.
var clock = regexp.MustCompile(`-?\b[0-9]{13,}\b`)

var tagsType = reflect.TypeFor[kmsg.Tags]()

// flatten writes each field of a response under its path.
func flatten(out map[string]string, path string, v reflect.Value) {
	switch {
	case v.Type() == tagsType:
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "Version" || name == "ThrottleMillis" {
				continue
			}
			flatten(out, strings.TrimPrefix(path+"."+name, "."), v.Field(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		flatten(out, path, v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		if v.IsNil() {
			out[path] = "null"
		} else {
			out[path] = fmt.Sprintf("%d elements", v.Len())
		}
		for i := range v.Len() {
			flatten(out, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default:
		out[path] = show(v)
	}
}

func show(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer:
		return "null"
	case v.Kind() == reflect.String:
		return fmt.Sprintf("%q", clock.ReplaceAllString(v.String(), "<time>"))
	case v.Kind() == reflect.Slice && v.IsNil():
		return "null"
	case v.Kind() == reflect.Slice:
		return fmt.Sprintf("%q", v.Bytes())
	case v.Type() == reflect.TypeFor[[16]byte]():
		return uuid.UUID(v.Interface().([16]byte)).String()
	}
	return fmt.Sprint(v.Interface())
}
