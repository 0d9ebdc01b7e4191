package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/embedded/embeddedtest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/scram"
	"github.com/iggykafka/gateway/security/users"
)

func scramCommand(t *testing.T, in string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := program{args: append([]string{"scram"}, args...), in: strings.NewReader(in), out: &out, err: &errs}.run(context.Background())
	return outcome{code, out.String(), errs.String()}
}

// What the command prints is what a gateway reads.
func TestScramLines(t *testing.T) {
	t.Parallel()
	all := scramCommand(t, "secret word\r\nmore\n", "admin")
	require.Equal(t, exitOK, all.code)
	require.Empty(t, all.err)
	other := scramCommand(t, "other", "--iterations=16384", "--mechanism", "SCRAM-SHA-512", "o:ther")
	require.Equal(t, exitOK, other.code)

	file := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(file, []byte("# made by hand\n"+all.out+other.out), 0o600))
	s := users.New(users.Config{UsersFile: file}, embeddedtest.Open(t), zap.NewNop())
	require.NoError(t, s.Start(t.Context()))
	defer s.Stop()
	found, err := s.ScramUsers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []security.ScramUser{
		{Name: "admin", Iterations: map[int8]int32{security.ScramSHA256: 4096, security.ScramSHA512: 4096}},
		{Name: "o:ther", Iterations: map[int8]int32{security.ScramSHA512: 16384}},
	}, found)
	for name, password := range map[string]string{"admin": "secret word", "o:ther": "other"} {
		right, err := scram.NewPasswords(s, nil).Check(t.Context(), name, password)
		require.NoError(t, err)
		require.True(t, right)
	}
	c, _ := s.ScramCredential("admin", security.ScramSHA256)
	require.Equal(t, security.KafkaScramShape, c.Shape(), "it looks like what others get who are not there")
}

func TestScramFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		args []string
		code int
		err  string
	}{
		{"x", nil, exitUsage, "kafka-gateway: scram takes one name; the password is asked for; see kafka-gateway scram --help\n"},
		{"x", []string{"a", "b"}, exitUsage, "kafka-gateway: scram takes one name; the password is asked for; see kafka-gateway scram --help\n"},
		{"x", []string{""}, exitUsage, "kafka-gateway: scram: the name is empty; see kafka-gateway scram --help\n"},
		{"x", []string{"#a"}, exitUsage, "kafka-gateway: scram: the name begins with #, begins or ends with a space, or has line breaks; see kafka-gateway scram --help\n"},
		{"x", []string{"a", "--iterations=4095"}, exitUsage, "kafka-gateway: --iterations: 4095 is out of range; set 4096 to 16384; see kafka-gateway scram --help\n"},
		{"x", []string{"a", "--mechanism=PLAIN"}, exitUsage, "kafka-gateway: --mechanism: \"PLAIN\" is neither SCRAM-SHA-256 nor SCRAM-SHA-512; see kafka-gateway scram --help\n"},
		{"", []string{"a"}, exitFailed, "kafka-gateway: the password is empty\n"},
		{"\nx", []string{"a"}, exitFailed, "kafka-gateway: the password is empty\n"},
		{strings.Repeat("x", 1025), []string{"a"}, exitFailed, "kafka-gateway: the password is longer than 1024 bytes\n"},
	} {
		require.Equal(t, outcome{c.code, "", c.err}, scramCommand(t, c.in, c.args...))
	}
	require.Equal(t, outcome{exitOK, scramHelp, ""}, scramCommand(t, "", "--help"))
}

// A password that clients read differently is told of, not shown.
func TestScramWarns(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"ª", "\U0001f511x", "a\x01b"} {
		got := scramCommand(t, password, "a")
		require.Equal(t, exitOK, got.code)
		require.Contains(t, got.err, "clients differ in how they read characters that are in this password")
		require.NotContains(t, got.err+got.out, password)
	}
}
