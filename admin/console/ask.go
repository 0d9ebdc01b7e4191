package console

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// asksAtOnce is how many questions one page has open with the store.
	asksAtOnce = 8
	// maxBounds is how many partitions one page asks for their ends.
	maxBounds = 2000
	// maxLookups is how many committed offsets one page looks up to find who
	// committed on a topic.
	maxLookups = 5_000
	// shownGroups is how many groups the page of a topic lists.
	shownGroups = 100
)

// gone reports whether an error means that what was asked for was deleted
// meanwhile, which spoils one row and not the page.
func gone(err error) bool {
	return errors.Is(err, backend.ErrUnknownTopic) || errors.Is(err, backend.ErrUnknownPartition)
}

// each calls ask for 0 to n−1, several at once, and returns the first error.
func each(ctx context.Context, n int, ask func(ctx context.Context, i int) error) error {
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(asksAtOnce)
	for i := range n {
		if asking.Err() != nil {
			break
		}
		g.Go(func() error { return ask(asking, i) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// ends finds the bounds of logs for one page, each once, and no more than
// maxBounds.
type ends struct {
	store Store
	known map[backend.Partition]*backend.Bounds // nil: it is not there
}

func newEnds(s Store) *ends {
	return &ends{store: s, known: map[backend.Partition]*backend.Bounds{}}
}

// learn asks for those of the partitions that are not known yet, as far as
// maxBounds goes.
func (e *ends) learn(ctx context.Context, ps []backend.Partition) error {
	var fresh []backend.Partition
	for _, p := range ps {
		if _, ok := e.known[p]; !ok && len(e.known) < maxBounds {
			e.known[p] = nil
			fresh = append(fresh, p)
		}
	}
	found := make([]*backend.Bounds, len(fresh))
	err := each(ctx, len(fresh), func(ctx context.Context, i int) error {
		b, err := e.store.Bounds(ctx, fresh[i])
		if err == nil {
			found[i] = &b
		} else if !gone(err) {
			return err
		}
		return nil
	})
	for i, p := range fresh {
		e.known[p] = found[i]
	}
	return err
}

// lag returns how many offsets lie between a committed one and the end of the log,
// as Kafka's tools count; false when the partition is not there or was not asked
// for.
func (e *ends) lag(p backend.Partition, offset int64) (int64, bool) {
	b := e.known[p]
	if b == nil {
		return 0, false
	}
	return max(b.End-offset, 0), true
}

// asked reports whether the partition is among those that were asked for.
func (e *ends) asked(p backend.Partition) bool {
	_, ok := e.known[p]
	return ok
}

// sizes returns the bytes of topics; −1 for one that is not there any more.
func sizes(ctx context.Context, s Store, ids []uuid.UUID) ([]int64, error) {
	out := make([]int64, len(ids))
	err := each(ctx, len(ids), func(ctx context.Context, i int) error {
		parts, err := s.Sizes(ctx, ids[i])
		if gone(err) {
			out[i] = -1
			return nil
		}
		for _, n := range parts {
			out[i] += n
		}
		return err
	})
	return out, err
}
