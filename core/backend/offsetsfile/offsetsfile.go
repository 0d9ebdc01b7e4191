// Package offsetsfile writes the committed offsets of a backend to a file and reads
// them back, also into another backend: JSON lines, one for each group and
// partition, topics by name.
//
//	{"group":"billing","topic":"orders","partition":0,"offset":42,"leader_epoch":-1,"metadata":"","time":"2026-01-02T03:04:05.678Z"}
//
// A group or metadata that is no UTF-8 is in group_base64 or metadata_base64
// instead.
package offsetsfile

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// Backend is what the package needs of a backend.
type Backend interface {
	backend.Topics
	backend.Offsets
}

// line is one line of the file. A name or text is in one of its two fields; []byte
// is base64 in JSON.
type line struct {
	Group         *string `json:"group,omitempty"`
	GroupBytes    []byte  `json:"group_base64,omitempty"`
	Topic         string  `json:"topic"`
	Partition     *int32  `json:"partition"`
	Offset        *int64  `json:"offset"`
	LeaderEpoch   *int32  `json:"leader_epoch,omitempty"` // −1 when it is left out
	Metadata      *string `json:"metadata,omitempty"`
	MetadataBytes []byte  `json:"metadata_base64,omitempty"`
	Time          string  `json:"time,omitempty"` // RFC 3339; that of the import when it is left out
}

// Export writes every committed offset, sorted by group, topic and partition.
func Export(ctx context.Context, b Backend, w io.Writer) error {
	names, err := topicNames(ctx, b)
	if err != nil {
		return err
	}
	groups, err := b.OffsetGroups(ctx)
	if err != nil {
		return fmt.Errorf("list groups: %w", err)
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, group := range groups {
		offsets, err := b.FetchOffsets(ctx, group, nil)
		if err != nil {
			return fmt.Errorf("group %q: %w", group, err)
		}
		for _, l := range lines(group, offsets, names) {
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func topicNames(ctx context.Context, b Backend) (map[uuid.UUID]string, error) {
	topics, err := b.AllTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	names := make(map[uuid.UUID]string, len(topics))
	for _, t := range topics {
		names[t.ID] = t.Name
	}
	return names, nil
}

// lines are those of one group. Topics that were deleted meanwhile have none.
func lines(group string, offsets map[backend.Partition]backend.CommittedOffset, names map[uuid.UUID]string) []line {
	all := make([]line, 0, len(offsets))
	for p, c := range offsets {
		name, ok := names[p.Topic]
		if !ok {
			continue
		}
		l := line{
			Topic: name, Partition: &p.Index, Offset: &c.Offset, LeaderEpoch: &c.LeaderEpoch,
			Time: c.CommitTime.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		}
		l.Group, l.GroupBytes = text(group)
		l.Metadata, l.MetadataBytes = text(c.Metadata)
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b line) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(*a.Partition, *b.Partition))
	})
	return all
}

// text puts a string where it belongs.
func text(s string) (plain *string, bytes []byte) {
	if utf8.ValidString(s) {
		return &s, nil
	}
	return nil, []byte(s)
}

// untext is the reverse of text.
func untext(field string, plain *string, bytes []byte) (string, error) {
	switch {
	case plain != nil && bytes != nil:
		return "", fmt.Errorf("%s and %s_base64 are both given", field, field)
	case plain != nil:
		return *plain, nil
	}
	return string(bytes), nil
}

// commitTime reads the time of a line.
func (l line) commitTime(now time.Time) (time.Time, error) {
	if l.Time == "" {
		return now, nil
	}
	t, err := time.Parse(time.RFC3339, l.Time)
	if err != nil {
		return t, fmt.Errorf("time: %q is not a time such as 2026-01-02T03:04:05.678Z", l.Time)
	}
	return t, nil
}
