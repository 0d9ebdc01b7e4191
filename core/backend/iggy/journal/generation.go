package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

const (
	// growth is how many times its content a log may be, beyond the floors.
	growth = 4
	// chunkSize is about how much of the content goes into one message.
	chunkSize = 1 << 20
	// retryAfter is the time until another attempt to cut the log, or to delete
	// a generation.
	retryAfter = 10 * time.Second
)

// cutDue reports whether the log is much longer than its content, has lost something
// that was accepted as lost, or can be read with difficulty alone.
func (j *Journal) cutDue() bool {
	if time.Now().Before(j.retryCut) {
		return false
	}
	pairs, bytes := j.content.size()
	s := j.log.state
	return s.lost > 0 || j.log.misread || s.bytes > j.opts.FloorBytes+growth*bytes || s.records > j.opts.FloorRecords+growth*pairs
}

// cut replaces the generation by a new one that begins with the content. The
// steps, each of which is durable before the next:
//
//  1. the new topic gets the content and a record that says how much it is
//  2. the old topic is sealed in favour of the new: from here on the new one is
//     the truth, and nothing that is written to the old one counts
//  3. the new topic gets its mark
//  4. the old topic is deleted
//
// Commits wait meanwhile. After an error the old generation goes on, unless the
// journal is lost.
func (j *Journal) cut(ctx context.Context) error {
	next, err := j.fill(ctx)
	if err != nil {
		return err
	}
	if err := j.append(ctx, j.log, newEntry(record{kind: kindSeal, number: next.state.number})); err != nil {
		j.discard(next)
		switch {
		case errors.Is(err, errShort):
			j.short = true
		case final(err):
			j.lose(err)
		}
		return err
	}
	for attempt := 0; !next.state.marked; attempt++ {
		err := j.append(ctx, next, newEntry(record{kind: kindMark}))
		switch {
		case errors.Is(err, errShort):
			j.adopt(next)
			j.short = true
			return err
		case final(err):
			j.lose(err)
			return err
		case err != nil && pause(ctx, attempt) != nil:
			return err
		}
	}
	old := j.log
	j.adopt(next)
	j.opts.Log.Info("journal cut", zap.String("stream", j.opts.Stream), zap.String("topic", next.at.Name),
		zap.Int64("records_before", old.state.records), zap.Int64("records", next.state.records))
	return nil
}

// adopt goes over to a generation.
func (j *Journal) adopt(next *topicLog) {
	j.discard(j.log)
	next.state.content = j.content
	j.log, j.short, j.wrote = next, false, time.Now()
}

// fill makes a new generation with the content and all but its mark.
func (j *Journal) fill(ctx context.Context) (*topicLog, error) {
	next, err := j.begin(ctx)
	if err != nil {
		return nil, err
	}
	content := j.content.moment()
	if err := j.copy(ctx, next, content); err != nil {
		j.discard(next)
		return nil, err
	}
	complete := record{kind: kindComplete, pairs: uint64(content.Len()), sum: sum(content)}
	if err := j.append(ctx, next, newEntry(complete)); err != nil {
		j.discard(next)
		return nil, err
	}
	return next, nil
}

// begin makes the topic. Numbers are never used twice, so that a late request of
// a former owner meets nothing that counts.
func (j *Journal) begin(ctx context.Context) (*topicLog, error) {
	for {
		j.highest++
		next := newTopicLog(j.client, j.opts.Stream, j.highest, j.opts.Log)
		next.state.content = nil
		err := j.create(ctx, j.highest)
		if client.Code(err) == ierror.TopicNameAlreadyExistsCode {
			continue
		}
		if err == nil {
			err = j.append(ctx, next, newEntry(record{kind: kindBegin, number: j.highest,
				previous: generationOf(j.log.at.Name), lease: j.lease(ctx)}))
		}
		if err != nil {
			j.discard(next)
			return nil, err
		}
		return next, nil
	}
}

// copy writes the pairs in messages of bounded size.
func (j *Journal) copy(ctx context.Context, to *topicLog, content *tree) error {
	var chunk []Change
	var err error
	size := 0
	flush := func() {
		if len(chunk) > 0 && err == nil {
			err = j.append(ctx, to, newEntry(record{kind: kindChanges, changes: appendChanges(make([]byte, 0, size), chunk)}))
		}
		chunk, size = chunk[:0], 0
	}
	content.Ascend(func(c Change) bool {
		if size > 0 && size+changeSize(c) > chunkSize {
			flush()
		}
		chunk, size = append(chunk, c), size+changeSize(c)
		return err == nil
	})
	flush()
	return err
}

// discard has a generation deleted.
func (j *Journal) discard(l *topicLog) {
	j.garbage = append(j.garbage, generationOf(l.at.Name))
}

// collect deletes one generation that does not count.
func (j *Journal) collect(ctx context.Context) {
	number := j.garbage[0]
	err := j.client.DeleteTopic(ctx, client.Topic{Stream: j.opts.Stream, Name: topicName(number)})
	if err != nil && !notFound(err) {
		j.retryDelete = time.Now().Add(retryAfter)
		j.opts.Log.Warn("journal: an old generation could not be deleted yet", zap.String("topic", topicName(number)), zap.Error(err))
		j.garbage = append(j.garbage[1:], number)
		return
	}
	j.garbage = j.garbage[1:]
}

// heal is for a server that has lost the end of the log, as after a kill with
// settings that do not write everything at once: memory has it still. The log is
// read anew, for what of es is there, and replaced by a new generation.
func (j *Journal) heal(ctx context.Context, es []*entry) error {
	j.opts.Log.Warn("the server has lost the end of the gateway's log, which is written anew from memory",
		zap.String("stream", j.opts.Stream), zap.String("topic", j.log.at.Name), zap.Uint64("end", j.log.next))
	left := missing(es)
	l, err := j.reread(ctx, j.log.at.Name, left)
	for err == nil && l.state.sealed != 0 && l.state.owns(j.id) {
		l, err = j.reread(ctx, topicName(l.state.sealed), left)
	}
	switch {
	case final(err):
		j.lose(err)
		return err
	case err != nil:
		return unavailable(err)
	case !j.ours(l.state) || l.state.sealed != 0:
		err := fmt.Errorf("%w: process %d on host %s", errFenced, l.state.lease.PID, l.state.lease.Host)
		j.lose(err)
		return err
	}
	for _, e := range missing(left) {
		e.payload = nil // it gets another number
	}
	l.state.content, l.state.owners = j.content, j.log.state.owners
	if !l.state.owns(j.id) {
		if err := j.reclaim(ctx, l); err != nil {
			return err
		}
	}
	j.log, j.short = l, false
	if err := j.cut(ctx); err != nil {
		j.short = true
		return err
	}
	return nil
}

// reread reads a generation of ours once more. What it has of es is stored.
func (j *Journal) reread(ctx context.Context, topic string, es []*entry) (*topicLog, error) {
	l := newTopicLog(j.client, j.opts.Stream, generationOf(topic), j.opts.Log)
	err := l.replay(ctx, func(id iggcon.MessageID, r *record) {
		if i := slices.IndexFunc(es, func(e *entry) bool { return e.id == id && !e.stored }); i >= 0 {
			j.content.apply(r.changes)
			es[i].stored = true
		}
	})
	if notFound(err) {
		if gone := j.present(ctx, l); errors.Is(gone, errGone) {
			return nil, gone
		}
	}
	return l, err
}

// reclaim claims a log that has lost our claim.
func (j *Journal) reclaim(ctx context.Context, l *topicLog) error {
	err := j.claim(ctx, l)
	owned := new(OwnedError)
	if final(err) || errors.As(err, &owned) {
		j.lose(err)
	}
	return err
}
