package users

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/filewatch"
)

// Where the system tells of no change the file is looked at once a minute: it is read when
// it is another one, and what is wrong with it is told once, however often it is looked at.
func TestPoll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	write := func(lines ...string) {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	}
	of := func(user string) string {
		c := security.NewScramCredential(security.ScramSHA256, []byte("secret"), []byte("salt"), 4096)
		return FormatLine(user, security.ScramSHA256, c)
	}
	write(of("alice"))
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zapcore.InfoLevel)
		s := New(Config{UsersFile: path}, nil, zap.New(core))
		require.NoError(t, s.follow(&filewatch.Watch{}))
		defer s.Stop()
		told := func() (all []string) {
			time.Sleep(3 * filewatch.PollEvery)
			synctest.Wait()
			for _, line := range lines.TakeAll() {
				fault, _ := line.ContextMap()["error"].(string)
				all = append(all, line.Level.String()+" "+strings.TrimPrefix(fault, "sasl.users_file: "))
			}
			return all
		}
		knows := func(user string) bool {
			_, ok := s.ScramCredential(user, security.ScramSHA256)
			return ok
		}
		require.Empty(t, told(), "the same file")
		write(of("alice"), of("bob"))
		require.Equal(t, []string{"info "}, told())
		require.True(t, knows("bob"))
		write(of("alice"), "bob")
		const broken = "line 2: the line is not name:MECHANISM$iterations:salt$storedkey:serverkey; \"kafka-gateway scram NAME\" prints lines that are right"
		require.Equal(t, []string{"error " + path + ": " + broken}, told())
		write(of("alice"), "bob:")
		require.Equal(t, []string{"error " + path + ": " + broken}, told(), "another file with the same fault")
		require.NoError(t, os.Remove(path))
		require.Equal(t, []string{"error " + path + " cannot be read: no such file or directory; \"kafka-gateway scram NAME\" prints what belongs into it"}, told())
		require.True(t, knows("bob"))
		write(of("carol"))
		require.Equal(t, []string{"info "}, told())
		require.True(t, knows("carol"))
		require.False(t, knows("bob"))
	})
}

// A file that is changed in several steps, or again at once, has its fault told once.
func TestOneFaultOfAChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	core, lines := observer.New(zapcore.ErrorLevel)
	s := New(Config{UsersFile: path}, nil, zap.New(core))
	require.NoError(t, s.follow(&filewatch.Watch{}))
	defer s.Stop()
	now := time.Now()
	for i, half := range []string{"bro", "broken", "broken\n"} {
		require.NoError(t, os.WriteFile(path, []byte(half), 0o600))
		s.look(now.Add(time.Duration(i) * 200 * time.Millisecond))
	}
	require.Len(t, lines.TakeAll(), 1)
	require.NoError(t, os.WriteFile(path, []byte("broken again"), 0o600))
	s.look(now.Add(repeat))
	require.Len(t, lines.TakeAll(), 1, "saved again")
}

// What kept a file from being read may go without a change of the file.
func TestReadAfterAFault(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads all files")
	}
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	core, lines := observer.New(zapcore.InfoLevel)
	s := New(Config{UsersFile: path}, nil, zap.New(core))
	require.NoError(t, s.follow(&filewatch.Watch{}))
	defer s.Stop()
	require.NoError(t, os.WriteFile(path, []byte("# nobody\n"), 0o600))
	require.NoError(t, os.Chmod(path, 0))
	s.look(time.Now())
	require.Equal(t, zapcore.ErrorLevel, lines.TakeAll()[0].Level)
	s.look(time.Now())
	require.Zero(t, lines.Len())
	require.NoError(t, os.Chmod(path, 0o600))
	s.look(time.Now())
	require.Equal(t, zapcore.InfoLevel, lines.TakeAll()[0].Level)
}
