package measured

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

// CommitOffsets implements backend.Offsets.
func (b *Backend) CommitOffsets(ctx context.Context, group string, commits []backend.Commit) error {
	ctx, c := b.begin(ctx, b.ops.commitOffsets)
	err := b.Backend.CommitOffsets(ctx, group, commits)
	c.end(err)
	return err
}

// FetchOffsets implements backend.Offsets.
func (b *Backend) FetchOffsets(ctx context.Context, group string, ps []backend.Partition) (map[backend.Partition]backend.CommittedOffset, error) {
	ctx, c := b.begin(ctx, b.ops.fetchOffsets)
	v, err := b.Backend.FetchOffsets(ctx, group, ps)
	c.end(err)
	return v, err
}

// OffsetGroups implements backend.Offsets.
func (b *Backend) OffsetGroups(ctx context.Context) ([]string, error) {
	ctx, c := b.begin(ctx, b.ops.offsetGroups)
	v, err := b.Backend.OffsetGroups(ctx)
	c.end(err)
	return v, err
}

// DeleteOffsets implements backend.Offsets.
func (b *Backend) DeleteOffsets(ctx context.Context, group string) error {
	ctx, c := b.begin(ctx, b.ops.deleteOffsets)
	err := b.Backend.DeleteOffsets(ctx, group)
	c.end(err)
	return err
}

// EachGroup implements backend.Groups.
func (b *Backend) EachGroup(ctx context.Context, each func(string, []byte) error) error {
	ctx, c := b.begin(ctx, b.ops.eachGroup)
	err := b.Backend.EachGroup(ctx, each)
	c.end(err)
	return err
}

// SaveGroup implements backend.Groups.
func (b *Backend) SaveGroup(ctx context.Context, group string, state []byte) error {
	ctx, c := b.begin(ctx, b.ops.saveGroup)
	err := b.Backend.SaveGroup(ctx, group, state)
	c.end(err)
	return err
}

// ExpireOffsets implements backend.Groups.
func (b *Backend) ExpireOffsets(ctx context.Context, group string, before time.Time, keep func(string) bool) (int, error) {
	ctx, c := b.begin(ctx, b.ops.expireOffsets)
	v, err := b.Backend.ExpireOffsets(ctx, group, before, keep)
	c.end(err)
	return v, err
}

// Entries implements backend.Entries.
func (b *Backend) Entries(ctx context.Context, kind string) (map[string][]byte, error) {
	ctx, c := b.begin(ctx, b.ops.entries)
	v, err := b.Backend.Entries(ctx, kind)
	c.end(err)
	return v, err
}

// ChangeEntries implements backend.Entries.
func (b *Backend) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	ctx, c := b.begin(ctx, b.ops.changeEntries)
	err := b.Backend.ChangeEntries(ctx, kind, changes)
	c.end(err)
	return err
}

// NewProducerID implements backend.Producers.
func (b *Backend) NewProducerID(ctx context.Context) (int64, error) {
	ctx, c := b.begin(ctx, b.ops.newProducerID)
	v, err := b.Backend.NewProducerID(ctx)
	c.end(err)
	return v, err
}

// LogDir implements backend.Disk.
func (b *Backend) LogDir(ctx context.Context) (backend.LogDir, error) {
	ctx, c := b.begin(ctx, b.ops.logDir)
	v, err := b.Backend.LogDir(ctx)
	c.end(err)
	return v, err
}

// Sizes implements backend.Disk.
func (b *Backend) Sizes(ctx context.Context, topic uuid.UUID) ([]int64, error) {
	ctx, c := b.begin(ctx, b.ops.sizes)
	v, err := b.Backend.Sizes(ctx, topic)
	c.end(err)
	return v, err
}
