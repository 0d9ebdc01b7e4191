package offsetfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// maxLine is the length of the longest line, in bytes: well above the longest
	// name and metadata.
	maxLine = 1 << 20
	// maxFaults is how many faults are named.
	maxFaults = 50
)

// Faults are what is wrong with a file, one a line, each with the number of its
// line.
type Faults struct {
	lines []string
	more  int
}

// Error returns the lines.
func (f *Faults) Error() string {
	text := strings.Join(f.lines, "\n")
	if f.more > 0 {
		text += fmt.Sprintf("\nand %d faults more", f.more)
	}
	return text
}

func (f *Faults) add(number int, format string, args ...any) {
	if len(f.lines) == maxFaults {
		f.more++
		return
	}
	f.lines = append(f.lines, fmt.Sprintf("line %d %s", number, fmt.Sprintf(format, args...)))
}

func (f *Faults) orNil() error {
	if len(f.lines) == 0 {
		return nil
	}
	return f
}

// File is a file that has been read, and is well-formed in itself.
type File struct{ lines []numbered }

type numbered struct {
	line
	number int
}

// Read reads a file. Empty lines are skipped. The error is *Faults for what is
// wrong with the lines, and otherwise that of the reader.
func Read(r io.Reader) (File, error) {
	var f File
	faults := &Faults{}
	type place struct {
		group, topic string
		partition    int32
	}
	seen := map[place]int{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	number := 0
	for in.Scan() {
		number++
		text := bytes.TrimSpace(in.Bytes())
		if len(text) == 0 {
			continue
		}
		l, err := decode(text)
		if err != nil {
			faults.add(number, "%v", err)
			continue
		}
		at := place{l.group(), l.Topic, *l.Partition}
		if first := seen[at]; first > 0 {
			faults.add(number, "is for the same group, topic and partition as line %d", first)
			continue
		}
		seen[at] = number
		f.lines = append(f.lines, numbered{l, number})
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		faults.add(number+1, "is longer than %d bytes", maxLine)
	} else if err != nil {
		return File{}, err
	}
	return f, faults.orNil()
}

// Imported is what an import has done.
type Imported struct{ Offsets, Groups int }

// Import commits what the file says, group by group; what the groups have
// committed for other partitions stays. When the file names a topic or a partition
// that is not there the error is *Faults, and nothing has been written. After
// another error some groups may have been; Imported says how many, and the import
// can be done again.
func Import(ctx context.Context, s Store, f File, now time.Time) (Imported, error) {
	topics, err := s.AllTopics(ctx)
	if err != nil {
		return Imported{}, err
	}
	byName := map[string]backend.Topic{}
	for _, t := range topics {
		byName[t.Name] = t
	}
	commits, faults := map[string][]backend.Commit{}, &Faults{}
	for _, l := range f.lines {
		switch t, exists := byName[l.Topic]; {
		case !exists:
			faults.add(l.number, "names topic %q, which does not exist", l.Topic)
		case *l.Partition < 0 || *l.Partition >= t.Partitions:
			faults.add(l.number, "names partition %d of topic %q, which has %d", *l.Partition, l.Topic, t.Partitions)
		default:
			at := backend.Partition{Topic: t.ID, Index: *l.Partition}
			commits[l.group()] = append(commits[l.group()], backend.Commit{Partition: at, CommittedOffset: l.committed(now)})
		}
	}
	if err := faults.orNil(); err != nil {
		return Imported{}, err
	}
	var done Imported
	for _, group := range slices.Sorted(maps.Keys(commits)) {
		if err := s.CommitOffsets(ctx, group, commits[group]); err != nil {
			return done, fmt.Errorf("group %q: %w", group, err)
		}
		done.Groups++
		done.Offsets += len(commits[group])
	}
	return done, nil
}
