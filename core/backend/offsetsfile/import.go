package offsetsfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// maxLine bounds a line, in bytes: a group of the longest name and metadata of
	// many times what a gateway takes by default, as JSON.
	maxLine = 4 << 20
	// maxFaults bounds the faults that are listed.
	maxFaults = 20
)

// Result says what an import did.
type Result struct {
	Groups, Offsets int
}

// Import commits the offsets of a file that Export wrote. It reads the whole file
// first: when a line has a fault, nothing is committed and the error has one line
// for each fault, with its number. Each group is one commit; after an error of the
// backend the result says how many there were, and the same import can be run
// again.
func Import(ctx context.Context, b Backend, r io.Reader) (Result, error) {
	i := importer{backend: b, now: time.Now(), topics: map[string]backend.Topic{}, groups: map[string]map[backend.Partition]commit{}}
	if err := i.read(ctx, r); err != nil {
		return Result{}, err
	}
	if err := i.fault(); err != nil {
		return Result{}, err
	}
	var done Result
	for _, group := range slices.Sorted(maps.Keys(i.groups)) {
		var commits []backend.Commit
		for p, c := range i.groups[group] {
			commits = append(commits, backend.Commit{Partition: p, CommittedOffset: c.CommittedOffset})
		}
		if err := b.CommitOffsets(ctx, group, commits); err != nil {
			return done, fmt.Errorf("group %q, after %d of %d groups: %w", group, done.Groups, len(i.groups), err)
		}
		done.Groups++
		done.Offsets += len(commits)
	}
	return done, nil
}

type importer struct {
	backend Backend
	now     time.Time
	topics  map[string]backend.Topic // those that were looked up; no partitions: not there
	groups  map[string]map[backend.Partition]commit
	faults  []error
	more    int // faults that are not listed
}

// commit is what a line says, and its number.
type commit struct {
	backend.CommittedOffset
	line int
}

func (i *importer) read(ctx context.Context, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		fault, err := i.line(ctx, n, lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if fault != nil {
			i.add(fmt.Errorf("line %d: %w", n, fault))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		i.add(fmt.Errorf("line %d: longer than %d bytes; nothing behind it was looked at", n+1, maxLine))
	case err != nil:
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

func (i *importer) add(fault error) {
	if len(i.faults) == maxFaults {
		i.more++
		return
	}
	i.faults = append(i.faults, fault)
}

func (i *importer) fault() error {
	if i.more > 0 {
		return errors.Join(append(i.faults, fmt.Errorf("and %d more", i.more))...)
	}
	return errors.Join(i.faults...)
}

// line takes one line in. The first error is a fault of the line, the second one of
// the backend.
func (i *importer) line(ctx context.Context, n int, b []byte) (fault, err error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return fmt.Errorf("is not an offset: %w", err), nil
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is something behind the offset"), nil
	}
	group, c, fault := l.read(i.now)
	if fault != nil {
		return fault, nil
	}
	topic, err := i.topic(ctx, l.Topic)
	switch {
	case err != nil:
		return nil, err
	case topic.Name == "":
		return fmt.Errorf("there is no topic %q; make it first, or take its lines out", l.Topic), nil
	case *l.Partition < 0 || *l.Partition >= topic.Partitions:
		return fmt.Errorf("topic %q has no partition %d; it has %d", l.Topic, *l.Partition, topic.Partitions), nil
	}
	p := backend.Partition{Topic: topic.ID, Index: *l.Partition}
	if i.groups[group] == nil {
		i.groups[group] = map[backend.Partition]commit{}
	}
	if first, ok := i.groups[group][p]; ok {
		return fmt.Errorf("line %d has an offset of this group and partition already", first.line), nil
	}
	i.groups[group][p] = commit{c, n}
	return nil, nil
}

// read checks what can be checked without the backend.
func (l line) read(now time.Time) (group string, c backend.CommittedOffset, err error) {
	if l.Group == nil && l.GroupBytes == nil {
		return "", c, errors.New("group: is missing")
	}
	if group, err = untext("group", l.Group, l.GroupBytes); err != nil {
		return "", c, err
	}
	if len(group) > math.MaxInt16 {
		return "", c, fmt.Errorf("group: has %d bytes, and %d is the most", len(group), math.MaxInt16)
	}
	if c.Metadata, err = untext("metadata", l.Metadata, l.MetadataBytes); err != nil {
		return "", c, err
	}
	switch {
	case l.Topic == "":
		return "", c, errors.New("topic: is missing")
	case l.Partition == nil:
		return "", c, errors.New("partition: is missing")
	case l.Offset == nil:
		return "", c, errors.New("offset: is missing")
	case *l.Offset < 0:
		return "", c, fmt.Errorf("offset: %d is negative", *l.Offset)
	}
	c.Offset, c.LeaderEpoch = *l.Offset, -1
	if l.LeaderEpoch != nil {
		c.LeaderEpoch = *l.LeaderEpoch
	}
	c.CommitTime, err = l.commitTime(now)
	return group, c, err
}

// topic looks a topic up once.
func (i *importer) topic(ctx context.Context, name string) (backend.Topic, error) {
	if t, ok := i.topics[name]; ok {
		return t, nil
	}
	t, err := i.backend.Topic(ctx, name)
	if err != nil && !errors.Is(err, backend.ErrUnknownTopic) {
		return t, err
	}
	if err != nil {
		t = backend.Topic{}
	}
	i.topics[name] = t
	return t, nil
}
