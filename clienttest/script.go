package clienttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest/secured"
)

// Script adapts a library of another language. The command is started with the bootstrap address as its last
// argument: once for the client, once for each group member. It reads one JSON object a line, does what "op"
// says, and writes one line: {"ok": result} or {"error": "text"}. Bytes travel in base64, null as null, times
// in ms. Standard error goes to the test's log if the test fails. The ops and their results:
//
//	create  topic, partitions                 null
//	delete  topic                             null
//	produce topic, codec, records             null
//	read    topic, from, count                records
//	at      topic, time                       {partition: offset}
//	groups                                    names
//	describe group, topic                     {"state": …, "members": [[partition, …], …]}
//	join    group, topic                      null
//	poll                                      {"records": …, "partitions": …}
//	commit  topic, positions                  null
//	leave                                     null
//
// A partition in a JSON key is a decimal string. The script ends at the end of its input.
func Script(t *testing.T, addr string, command ...string) Client {
	s, err := startScript(t, addr, command)
	require.NoError(t, err)
	return s
}

// LogsIn returns what opens a Script that logs in: the command gets the login as JSON, in front of the address.
func LogsIn(command ...string) func(*testing.T, secured.Login) (Client, error) {
	return func(t *testing.T, login secured.Login) (Client, error) {
		text, err := json.Marshal(login)
		require.NoError(t, err)
		return Script(t, login.Address, append(slices.Clone(command), string(text))...), nil
	}
}

// scriptEnd is the time that a script has to end after the end of its input.
const scriptEnd = 10 * time.Second

// script is one running process.
type script struct {
	t       testing.TB
	addr    string
	command []string

	mu      sync.Mutex // one op at a time
	in      io.WriteCloser
	out     *bufio.Reader
	process *os.Process
	close   func() error
	stderr  *bytes.Buffer
}

func startScript(t testing.TB, addr string, command []string) (*script, error) {
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], addr)...)
	s := &script{t: t, addr: addr, command: command, stderr: &bytes.Buffer{}}
	cmd.Stderr = s.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewReader(out)
	s.close = sync.OnceValue(func() error {
		defer time.AfterFunc(scriptEnd, func() { _ = cmd.Process.Kill() }).Stop()
		_ = in.Close() // at which the script ends by itself
		return cmd.Wait()
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // does nothing to one that has ended
		_ = s.close()
		if t.Failed() {
			t.Logf("%v wrote:\n%s", command, s.stderr)
		}
	})
	err = cmd.Start()
	s.process = cmd.Process
	return s, err
}

// ask runs one op. A result of nil is not read. A script that does not answer in time is aborted; Python then
// writes where it was.
func (s *script) ask(ctx context.Context, op string, arguments map[string]any, result any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := map[string]any{"op": op}
	for name, value := range arguments {
		request[name] = value
	}
	if err := json.NewEncoder(s.in).Encode(request); err != nil {
		return fmt.Errorf("%s: the script is gone: %w", op, err)
	}
	type answer struct {
		OK    json.RawMessage `json:"ok"`
		Error string          `json:"error"`
	}
	line := make(chan error, 1)
	var got answer
	go func() {
		text, err := s.out.ReadBytes('\n')
		line <- errors.Join(err, json.Unmarshal(text, &got))
	}()
	select {
	case err := <-line:
		switch {
		case err != nil:
			return fmt.Errorf("%s: the script's answer: %w", op, err)
		case got.Error != "":
			return fmt.Errorf("%s: %s", op, got.Error)
		case result == nil:
			return nil
		}
		return json.Unmarshal(got.OK, result)
	case <-ctx.Done():
		_ = s.in.Close() // nothing can be asked after this
		_ = s.process.Signal(syscall.SIGABRT)
		return fmt.Errorf("%s: no answer: %w", op, errors.Join(ctx.Err(), <-line))
	}
}

func (s *script) CreateTopic(ctx context.Context, topic string, partitions int) error {
	return s.ask(ctx, "create", map[string]any{"topic": topic, "partitions": partitions}, nil)
}

func (s *script) DeleteTopic(ctx context.Context, topic string) error {
	return s.ask(ctx, "delete", map[string]any{"topic": topic}, nil)
}

func (s *script) Produce(ctx context.Context, topic, codec string, records []Record) error {
	return s.ask(ctx, "produce", map[string]any{"topic": topic, "codec": codec, "records": records}, nil)
}

func (s *script) Read(ctx context.Context, topic string, from Offsets, count int) (out []Record, err error) {
	err = s.ask(ctx, "read", map[string]any{"topic": topic, "from": from, "count": count}, &out)
	return out, err
}

func (s *script) OffsetsAt(ctx context.Context, topic string, at int64) (out Offsets, err error) {
	err = s.ask(ctx, "at", map[string]any{"topic": topic, "time": at}, &out)
	return out, err
}

func (s *script) Groups(ctx context.Context) (out []string, err error) {
	err = s.ask(ctx, "groups", nil, &out)
	return out, err
}

func (s *script) Describe(ctx context.Context, group, topic string) (out Group, err error) {
	err = s.ask(ctx, "describe", map[string]any{"group": group, "topic": topic}, &out)
	return out, err
}

func (s *script) Join(ctx context.Context, group, topic string) (Member, error) {
	member, err := startScript(s.t, s.addr, s.command)
	if err != nil {
		return nil, err
	}
	leave := sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return errors.Join(member.ask(ctx, "leave", nil, nil), member.close())
	})
	return scriptMember{member, leave}, member.ask(ctx, "join", map[string]any{"group": group, "topic": topic}, nil)
}

func (s *script) Close() error { return s.close() }

// scriptMember is a process that is one member of a group.
type scriptMember struct {
	*script
	leave func() error
}

func (m scriptMember) Poll(ctx context.Context) (out Polled, err error) {
	err = m.ask(ctx, "poll", nil, &out)
	return out, err
}

func (m scriptMember) Commit(ctx context.Context, topic string, positions Offsets) error {
	return m.ask(ctx, "commit", map[string]any{"topic": topic, "positions": positions}, nil)
}

// Close leaves the group and ends the process, once.
func (m scriptMember) Close() error { return m.leave() }
