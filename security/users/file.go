package users

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/permissions"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/filewatch"
	"github.com/iggykafka/gateway/internal/smallfile"
)

// maxFile is the largest users file, in bytes: about 100,000 users.
const maxFile = 32 << 20

// quiet is how long the folder of the file must be left alone before it is read again:
// editors and configuration management change a file in several steps.
const quiet = 100 * time.Millisecond

// repeat is how long after a fault the same one of another file is told of again: who
// saves the file again wants to know, but a change in several steps has one fault.
const repeat = 5 * time.Second

// follow reads the file, and again whenever it changes.
func (s *Store) follow(w *filewatch.Watch) error {
	s.seen, _ = os.Stat(s.file)
	if err := s.readFile(); err != nil {
		w.Stop()
		return err
	}
	s.watch = w
	w.Start(quiet, s.log, s.look)
	return nil
}

// look reads the file again if it is another one than before, or could not be read: what
// keeps it from being read may lie outside of it, such as its permissions. A file that
// cannot be read leaves in force what was, and is told of once.
func (s *Store) look(at time.Time) {
	now, _ := os.Stat(s.file)
	changed := !same(s.seen, now)
	if !changed && s.fault == "" {
		return
	}
	s.seen = now
	if err := s.readFile(); err != nil {
		if s.fault != err.Error() || changed && at.Sub(s.told) >= repeat {
			s.told = at
			s.log.Error("The users file has changed and cannot be read; what it said before stays in force.", zap.Error(err))
		}
		s.fault = err.Error()
		return
	}
	s.fault = ""
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.log.Info("The users file has been read again.", zap.String("file", s.file), zap.Int("users", len(s.names)))
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Check says why the file cannot be read, as the start would.
func (c Config) Check() error {
	if c.UsersFile == "" {
		return nil
	}
	_, _, err := read(c.UsersFile)
	return err
}

// read returns the users of a file.
func read(file string) (map[id]security.ScramCredential, map[string]bool, error) {
	raw, err := smallfile.Read(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; \"kafka-gateway scram NAME\" prints what belongs into it", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("sasl.users_file: %s %w", file, err)
	}
	fixed, names, err := parseFile(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("sasl.users_file: %s: %w", file, err)
	}
	return fixed, names, nil
}

// readFile puts the users of the file in force.
func (s *Store) readFile() error {
	fixed, names, err := read(s.file)
	if err != nil {
		return err
	}
	s.warnOfOthers()
	seen := shapes{}
	for key, c := range fixed {
		seen.add(key.mechanism, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed, s.names, s.fixedShapes = fixed, names, seen
	return nil
}

// warnOfOthers tells of a file that others on the machine can get at.
func (s *Store) warnOfOthers() {
	switch read, change := permissions.Others(s.file); {
	case change:
		s.log.Warn("Every user of this machine can change the users file, and log in as anybody by that; take that away, of the file and its folder (chmod o-w).", zap.String("file", s.file))
	case read:
		s.log.Warn("Every user of this machine can read the users file, and guess passwords by that; take that away (chmod o-r).", zap.String("file", s.file))
	}
}

// parseFile reads all lines. An error names the line and has nothing of it.
func parseFile(raw []byte) (map[id]security.ScramCredential, map[string]bool, error) {
	found, names := map[id]security.ScramCredential{}, map[string]bool{}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff")) // as some editors begin a file
	if bytes.HasPrefix(raw, []byte{0xff, 0xfe}) {
		return nil, nil, errors.New("is in UTF-16, as some shells of Windows write; convert it to UTF-8")
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxFile)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, c, err := parseLine(line)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: the line %w; \"kafka-gateway scram NAME\" prints lines that are right", n, err)
		}
		if _, twice := found[key]; twice {
			return nil, nil, fmt.Errorf("line %d: the user has a credential of this mechanism already; remove one of the two lines", n)
		}
		c.Fixed = true
		found[key], names[key.user] = c, true
	}
	return found, names, lines.Err()
}
