package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// cluster is what commands ask. kadm fails a whole request for one thing that the
// cluster refuses for want of a permission, and does not say which it is. Here an
// error of that kind names what was asked for, and where several things are looked at
// those that are refused have the error each, as with every other error. A refusal of
// everything, which is asked for by no names, stays the error of all of it.
type cluster struct{ *kadm.Client }

// maxNamed is how many things an error names.
const maxNamed = 5

// about names what was asked for in an error of a permission: no names are everything
// that there is, of which the cluster does not say what it refuses.
func about(err error, names ...string) error {
	if !denied(err) {
		return err
	}
	if len(names) == 0 {
		return plain(err)
	}
	return fmt.Errorf("%s: %w", list(names), plain(err))
}

// list writes names, as many as an error may name.
func list(names []string) string {
	what := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		what = fmt.Sprintf("%s and %d more", what, more)
	}
	return what
}

// alone asks for each name by itself, after a refusal of all of them. Errors but
// refusals, which go to refused, end it.
func alone[T any](ctx context.Context, names []string, ask func(context.Context, ...string) (T, error), found func(T), refused func(name string, err error)) error {
	for _, name := range names {
		answer, err := ask(ctx, name)
		switch {
		case denied(err):
			refused(name, plain(err))
		case err != nil:
			return err
		default:
			found(answer)
		}
	}
	return nil
}

// ListTopicsWithInternal is kadm's, with Err set on topics that may not be described.
func (c cluster) ListTopicsWithInternal(ctx context.Context, topics ...string) (kadm.TopicDetails, error) {
	found, err := c.Client.ListTopicsWithInternal(ctx, topics...)
	if !denied(err) || len(topics) == 0 {
		return found, about(err)
	}
	found = kadm.TopicDetails{}
	return found, alone(ctx, topics, c.Client.ListTopicsWithInternal,
		func(one kadm.TopicDetails) { maps.Copy(found, one) },
		func(topic string, err error) { found[topic] = kadm.TopicDetail{Topic: topic, Err: err} })
}

// DescribeTopicConfigs is kadm's, with Err set on topics whose configs may not be
// described.
func (c cluster) DescribeTopicConfigs(ctx context.Context, topics ...string) (kadm.ResourceConfigs, error) {
	found, err := c.Client.DescribeTopicConfigs(ctx, topics...)
	if !denied(err) || len(topics) == 0 {
		return found, about(err)
	}
	found = nil
	err = alone(ctx, topics, c.Client.DescribeTopicConfigs,
		func(one kadm.ResourceConfigs) { found = append(found, one...) },
		func(topic string, err error) { found = append(found, kadm.ResourceConfig{Name: topic, Err: err}) })
	return found, err
}

// Lag is kadm's, with DescribeErr set on groups that may not be described, or whose
// topics may not.
func (c cluster) Lag(ctx context.Context, groups ...string) (kadm.DescribedGroupLags, error) {
	found, err := c.Client.Lag(ctx, groups...)
	if !denied(err) || len(groups) == 0 {
		return found, about(err)
	}
	found = kadm.DescribedGroupLags{}
	return found, alone(ctx, groups, c.Client.Lag,
		func(one kadm.DescribedGroupLags) { maps.Copy(found, one) },
		func(group string, err error) {
			if errors.Is(err, kerr.TopicAuthorizationFailed) {
				err = fmt.Errorf("its topics: %w", err)
			}
			found[group] = kadm.DescribedGroupLag{Group: group, DescribeErr: err}
		})
}

// DeleteGroups is kadm's, with Err set on groups that may not be deleted. It asks for
// one at a time: of several kadm does not tell which are deleted when one is refused.
func (c cluster) DeleteGroups(ctx context.Context, groups ...string) (kadm.DeleteGroupResponses, error) {
	deleted := kadm.DeleteGroupResponses{}
	return deleted, alone(ctx, groups, c.Client.DeleteGroups,
		func(one kadm.DeleteGroupResponses) { maps.Copy(deleted, one) },
		func(group string, err error) { deleted[group] = kadm.DeleteGroupResponse{Group: group, Err: err} })
}

// The others are kadm's, and name in a refusal what they were asked for.

func (c cluster) ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	listed, err := c.Client.ListStartOffsets(ctx, topics...)
	return listed, about(err, topics...)
}

func (c cluster) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	listed, err := c.Client.ListEndOffsets(ctx, topics...)
	return listed, about(err, topics...)
}

func (c cluster) ListMaxTimestampOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	listed, err := c.Client.ListMaxTimestampOffsets(ctx, topics...)
	return listed, about(err, topics...)
}

func (c cluster) ListOffsetsAfterMilli(ctx context.Context, ms int64, topics ...string) (kadm.ListedOffsets, error) {
	listed, err := c.Client.ListOffsetsAfterMilli(ctx, ms, topics...)
	return listed, about(err, topics...)
}

func (c cluster) AlterTopicConfigs(ctx context.Context, changes []kadm.AlterConfig, topics ...string) (kadm.AlterConfigsResponses, error) {
	altered, err := c.Client.AlterTopicConfigs(ctx, changes, topics...)
	return altered, about(err, topics...)
}

func (c cluster) UpdatePartitions(ctx context.Context, total int, topics ...string) (kadm.CreatePartitionsResponses, error) {
	made, err := c.Client.UpdatePartitions(ctx, total, topics...)
	return made, about(err, topics...)
}

func (c cluster) DeleteRecords(ctx context.Context, before kadm.Offsets) (kadm.DeleteRecordsResponses, error) {
	deleted, err := c.Client.DeleteRecords(ctx, before)
	return deleted, about(err, before.TopicsSet().Topics()...)
}

func (c cluster) DescribeGroups(ctx context.Context, groups ...string) (kadm.DescribedGroups, error) {
	described, err := c.Client.DescribeGroups(ctx, groups...)
	return described, about(err, groups...)
}

func (c cluster) FetchOffsets(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	fetched, err := c.Client.FetchOffsets(ctx, group)
	return fetched, about(err, group)
}

func (c cluster) CommitOffsets(ctx context.Context, group string, offsets kadm.Offsets) (kadm.OffsetResponses, error) {
	committed, err := c.Client.CommitOffsets(ctx, group, offsets)
	committed.Each(func(answer kadm.OffsetResponse) { // a refusal of the group stands at each partition
		if errors.Is(answer.Err, kerr.GroupAuthorizationFailed) {
			err = answer.Err
		}
	})
	return committed, about(err, group)
}

func (c cluster) DeleteOffsets(ctx context.Context, group string, topics kadm.TopicsSet) (kadm.DeleteOffsetsResponses, error) {
	deleted, err := c.Client.DeleteOffsets(ctx, group, topics)
	return deleted, about(err, group)
}
