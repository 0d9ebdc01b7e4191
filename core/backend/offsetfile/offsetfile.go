// Package offsetfile moves committed offsets between a backend and a file of JSON
// lines, one committed offset a line:
//
//	{"group":"billing","topic":"orders","partition":0,"offset":42,"leader_epoch":3,"metadata":"x","time":"2026-01-02T15:04:05.678Z"}
//
// leader_epoch is left out when there is none, metadata when it is empty; time is
// that of the commit, and without it that of the import. Text that is not UTF-8 has
// its bytes in group_base64 or metadata_base64 instead. Topics go by name, so that
// a file fits another backend that has the same topics.
package offsetfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/iggykafka/gateway/core/backend"
)

// Store is what is needed of a backend.
type Store interface {
	AllTopics(context.Context) ([]backend.Topic, error)
	backend.Offsets
}

// line is a line of a file.
type line struct {
	Group          *string    `json:"group,omitempty"` // may be empty, as the name of a group may
	GroupBase64    []byte     `json:"group_base64,omitempty"`
	Topic          string     `json:"topic"`
	Partition      *int32     `json:"partition"`
	Offset         *int64     `json:"offset"`
	LeaderEpoch    *int32     `json:"leader_epoch,omitempty"`
	Metadata       string     `json:"metadata,omitempty"`
	MetadataBase64 []byte     `json:"metadata_base64,omitempty"`
	Time           *time.Time `json:"time,omitempty"`
}

// Export writes all committed offsets of topics that exist, sorted by group, topic
// and partition, and returns how many there were.
func Export(ctx context.Context, s Store, w io.Writer) (int, error) {
	topics, err := s.AllTopics(ctx)
	if err != nil {
		return 0, err
	}
	groups, err := s.OffsetGroups(ctx)
	if err != nil {
		return 0, err
	}
	names := map[[16]byte]string{}
	for _, t := range topics {
		names[t.ID] = t.Name
	}
	out, n := json.NewEncoder(w), 0
	out.SetEscapeHTML(false)
	for _, group := range groups {
		committed, err := s.FetchOffsets(ctx, group, nil)
		if err != nil {
			return n, err
		}
		for _, l := range linesOf(group, committed, names) {
			if err := out.Encode(l); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// linesOf returns the lines of a group, sorted.
func linesOf(group string, committed map[backend.Partition]backend.CommittedOffset, names map[[16]byte]string) []line {
	var lines []line
	for at, c := range committed {
		name, exists := names[at.Topic]
		if !exists {
			continue
		}
		l := line{Topic: name, Partition: &at.Index, Offset: &c.Offset, Group: &group, Metadata: c.Metadata}
		if !utf8.ValidString(group) {
			l.Group, l.GroupBase64 = nil, []byte(group)
		}
		if !utf8.ValidString(c.Metadata) {
			l.Metadata, l.MetadataBase64 = "", []byte(c.Metadata)
		}
		if c.LeaderEpoch >= 0 {
			l.LeaderEpoch = &c.LeaderEpoch
		}
		if !c.CommitTime.IsZero() {
			at := c.CommitTime.UTC()
			l.Time = &at
		}
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int {
		if by := strings.Compare(a.Topic, b.Topic); by != 0 {
			return by
		}
		return int(*a.Partition) - int(*b.Partition)
	})
	return lines
}

// decode reads one line.
func decode(text []byte) (line, error) {
	var l line
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&l); err != nil {
		return l, fmt.Errorf("is not a committed offset: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("has more than one JSON object")
	}
	return l, l.check()
}

// check says what is wrong with a line, whatever topics there are.
func (l *line) check() error {
	switch {
	case (l.Group == nil) == (l.GroupBase64 == nil):
		return errors.New("needs either group or group_base64")
	case l.Metadata != "" && l.MetadataBase64 != nil:
		return errors.New("has both metadata and metadata_base64")
	case l.Topic == "":
		return errors.New("has no topic")
	case l.Partition == nil:
		return errors.New("has no partition")
	case l.Offset == nil:
		return errors.New("has no offset")
	case *l.Offset < 0:
		return fmt.Errorf("offset %d is negative", *l.Offset)
	case l.LeaderEpoch != nil && *l.LeaderEpoch < 0:
		return fmt.Errorf("leader_epoch %d is negative; leave it out where there is none", *l.LeaderEpoch)
	}
	return nil
}

func (l *line) group() string {
	if l.Group != nil {
		return *l.Group
	}
	return string(l.GroupBase64)
}

// committed returns what the line says, with now for a time that it does not say.
func (l *line) committed(now time.Time) backend.CommittedOffset {
	c := backend.CommittedOffset{Offset: *l.Offset, LeaderEpoch: -1, Metadata: l.Metadata, CommitTime: now}
	if l.MetadataBase64 != nil {
		c.Metadata = string(l.MetadataBase64)
	}
	if l.LeaderEpoch != nil {
		c.LeaderEpoch = *l.LeaderEpoch
	}
	if l.Time != nil {
		c.CommitTime = *l.Time
	}
	return c
}
