package iggy

import (
	"context"
	"slices"

	"github.com/iggykafka/gateway/core/backend"
)

// question asks the writer of a partition for its producers, which are its own.
type question struct{ answer chan described }

type described struct {
	producers []backend.ProducerState
	err       error
}

// DescribeProducers implements backend.Logs. Where no producer has written since
// the start of the gateway, the end of the log is read, as before the first write of
// one, and remembered for it: up to rebuildBytes, of at most rebuilders partitions at
// a time. It waits behind the request that is on its way.
func (s *Store) DescribeProducers(ctx context.Context, id backend.Partition) ([]backend.ProducerState, error) {
	p, err := s.partition(ctx, id)
	if err != nil {
		return nil, err
	}
	q := &question{make(chan described, 1)}
	if err := p.ask(q); err != nil {
		return nil, err
	}
	select {
	case d := <-q.answer:
		return d.producers, d.err
	case <-ctx.Done():
		p.unask(q)
		return nil, ctx.Err()
	}
}

// ask has the writer answer a question between two requests.
func (p *partition) ask(q *question) error {
	w := &p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := p.begin(); err != nil {
		return err
	}
	w.questions = append(w.questions, q)
	return nil
}

// unask takes a question back, if it is still waiting.
func (p *partition) unask(q *question) {
	w := &p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.questions, q); i >= 0 {
		w.questions = slices.Delete(w.questions, i, i+1)
	}
}

// answer answers questions; the writer's goroutine calls it.
func (p *partition) answer(ctx context.Context, asked []*question) {
	if len(asked) == 0 {
		return
	}
	err := p.ready(ctx, nil)
	if err == nil {
		err = p.learn(ctx)
	}
	var all []backend.ProducerState
	if err == nil {
		s := p.store
		all = p.writer.producers.Describe(s.now().UnixMilli(), s.opts.ProducerExpiration.Milliseconds())
	}
	for _, q := range asked {
		q.answer <- described{slices.Clone(all), err}
	}
}
