package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

// Client is what a Journal needs of a server.
type Client interface {
	client.Data
	client.Topics
	client.Peers
}

const (
	// topicPrefix begins the names of the topics; a generation's number follows.
	topicPrefix = "state-"
	// replyTarget is about how much one poll of a replay asks for, in bytes.
	replyTarget = 4 << 20
	// maxPoll bounds the messages of one poll.
	maxPoll = 4096
	// firstPoll is how many messages are asked for while their size is unknown.
	firstPoll = 16
	// emptyPolls is how often an offset that should be there is asked for.
	emptyPolls = 5
)

var (
	// errShort: the log ends before what was seen of it.
	errShort = errors.New("the server has lost the end of the log")
	// errGone: the topic is not there.
	errGone = errors.New("the topic of the log is gone")
)

// topicLog is the log of one generation, read up to next.
type topicLog struct {
	client Client
	at     client.Topic
	log    *zap.Logger
	state  *state
	next   uint64
	// tail is the id of the message before next; zero when it cannot be read.
	tail iggcon.MessageID
	// limit bounds the messages of the next poll.
	limit uint64
	// found is the last offset whose message was at the beginning of an answer.
	found uint64
	// skipping says that the offsets from hole up to next were left out.
	skipping bool
	hole     uint64
	// misread: messages are found beside others alone (misread.go).
	misread bool
}

func topicName(number uint64) string { return topicPrefix + strconv.FormatUint(number, 10) }

// generationOf returns the number in a topic's name, 0 when it is another topic.
func generationOf(name string) uint64 {
	digits, ok := strings.CutPrefix(name, topicPrefix)
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil || topicName(n) != name {
		return 0
	}
	return n
}

func newTopicLog(c Client, stream string, number uint64, log *zap.Logger) *topicLog {
	return &topicLog{client: c, at: client.Topic{Stream: stream, Name: topicName(number)}, log: log, state: newState(), limit: firstPoll}
}

// entry is a record on its way into a log.
type entry struct {
	rec     record
	id      iggcon.MessageID
	payload []byte // nil until it has a number
	stored  bool   // it is in the log, and valid
}

func newEntry(rec record) *entry { return &entry{rec: rec, id: iggcon.MessageID(uuid.New())} }

func missing(es []*entry) []*entry {
	var left []*entry
	for _, e := range es {
		if !e.stored {
			left = append(left, e)
		}
	}
	return left
}

// send numbers the entries, in one request.
func (l *topicLog) send(ctx context.Context, owner uuid.UUID, es []*entry) error {
	messages := make([]iggcon.IggyMessage, len(es))
	now, first := uint64(time.Now().UnixMicro()), l.state.seq
	for i, e := range es {
		if e.payload == nil {
			e.rec.owner, e.rec.seq, e.rec.acked = owner, first+uint64(i)+1, first
			e.payload = e.rec.encode()
		}
		messages[i].Header = iggcon.MessageHeader{Id: e.id, OriginTimestamp: now, PayloadLength: uint32(len(e.payload))}
		messages[i].Payload = e.payload
	}
	return l.client.Send(ctx, l.at, 0, messages)
}

// catchUp takes what has been added to the log. es are the entries on their way;
// sure says that the server has acknowledged all that are not stored.
func (l *topicLog) catchUp(ctx context.Context, es []*entry, sure bool) error {
	left := missing(es)
	if sure {
		if alone, err := l.alone(ctx, left); err != nil {
			return err
		} else if alone {
			return l.takeOwn(left)
		}
	}
	end, err := l.end(ctx)
	if err != nil {
		return err
	}
	if end < l.next {
		return fmt.Errorf("%w: topic %s ends at %d, and did at %d", errShort, l.at.Name, end, l.next)
	}
	if err := l.checkTail(ctx); err != nil {
		return err
	}
	byID := make(map[iggcon.MessageID]*entry, len(left))
	for _, e := range left {
		byID[e.id] = e
	}
	return l.read(ctx, end, func(id iggcon.MessageID, _ *record) {
		if e := byID[id]; e != nil {
			e.stored = true
		}
	})
}

// alone reports that the entries, which the server has acknowledged, are all that
// is new in the log. It reads the first of them: after a kill that came between
// the writes of a message and of its index, the message that is sent next is
// acknowledged and cannot be read.
func (l *topicLog) alone(ctx context.Context, es []*entry) (bool, error) {
	p, err := l.poll(ctx, l.next, 1)
	if err != nil {
		if client.Unreadable(err) {
			err = nil
		}
		return false, err
	}
	return len(p.Messages) > 0 && p.Messages[0].Header.Id == es[0].id && p.Messages[0].Header.Offset == l.next &&
		p.Current+1 == l.next+uint64(len(es)), nil
}

// checkTail makes sure that the log still has the message before next: one that
// was cut and has grown again has another one there.
func (l *topicLog) checkTail(ctx context.Context) error {
	if l.tail == (iggcon.MessageID{}) {
		return nil
	}
	p, err := l.poll(ctx, l.next-1, 1)
	switch {
	case err != nil && !client.Unreadable(err):
		return err
	case err != nil || len(p.Messages) == 0 || p.Messages[0].Header.Offset != l.next-1:
		if there, err := l.stillThere(ctx); there || err != nil {
			return err
		}
	case p.Messages[0].Header.Id == l.tail:
		return nil
	}
	return fmt.Errorf("%w: topic %s has another message at %d", errShort, l.at.Name, l.next-1)
}

// takeOwn takes entries that are known to be all that is new.
func (l *topicLog) takeOwn(es []*entry) error {
	for _, e := range es {
		valid, err := l.state.apply(l.next, &e.rec)
		if err != nil {
			return l.damaged(l.next, err)
		}
		e.stored = valid
		l.count(e.id, len(e.payload))
	}
	return nil
}

func (l *topicLog) count(id iggcon.MessageID, bytes int) {
	l.next++
	l.tail, l.skipping = id, false
	l.state.records++
	l.state.bytes += int64(bytes)
}

// end asks for the offset after the last message.
func (l *topicLog) end(ctx context.Context) (uint64, error) {
	p, err := l.poll(ctx, math.MaxUint64, 1)
	if err != nil || p.Current > 0 {
		return p.Current + 1, err
	}
	p, err = l.poll(ctx, 0, 1)
	if client.Unreadable(err) || err == nil && len(p.Messages) > 0 {
		return 1, nil
	}
	return 0, err
}

func (l *topicLog) poll(ctx context.Context, offset uint64, count uint64) (client.Polled, error) {
	p, err := l.client.Poll(ctx, l.at, 0, iggcon.OffsetPollingStrategy(offset), uint32(count))
	if err == nil && len(p.Messages) > 0 && p.Messages[0].Header.Offset == offset {
		l.found = offset
	}
	return p, err
}

// read takes all messages before end and tells seen of the valid records.
func (l *topicLog) read(ctx context.Context, end uint64, seen func(iggcon.MessageID, *record)) error {
	empty := 0
	for l.next < end {
		n := min(l.limit, end-l.next)
		p, err := l.poll(ctx, l.next, n)
		switch {
		case (client.Unreadable(err) || errors.Is(err, client.ErrReplyTooLarge)) && n > 1:
			l.limit = n / 2
			continue
		case client.Unreadable(err):
			if err := l.pass(ctx, end, err, seen); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case len(p.Messages) > 0:
			if err := l.takeAll(p.Messages, end, seen); err != nil {
				return err
			}
			empty = 0
			continue
		}
		empty++
		last := empty >= l.patience(end)
		if l.misread || last {
			there, err := l.aside(ctx, end, seen)
			if err != nil {
				return err
			}
			if there {
				empty = 0
				continue
			}
		}
		if last {
			l.skip(l.next+1, errors.New("nothing there"))
			empty = 0
		} else if err := pause(ctx, empty); err != nil {
			return err
		}
	}
	return nil
}

// patience is how many empty answers there are until the offset at next is left out.
// In a log where messages are not found under their offsets, a long run of them is
// not waited for one by one: the first of it and the last are, so that a server that
// is slow to show them has time, too.
func (l *topicLog) patience(end uint64) int {
	if l.misread && l.skipping && l.next+1 < end {
		return 1
	}
	return emptyPolls
}

// pass gets on where the message at next cannot be polled.
func (l *topicLog) pass(ctx context.Context, end uint64, cause error, seen func(iggcon.MessageID, *record)) error {
	there, err := l.aside(ctx, end, seen)
	if err == nil && !there {
		l.skip(l.next+1, cause)
	}
	return err
}

// skip leaves out offsets. Whether something was stored there, the records tell
// that follow.
func (l *topicLog) skip(to uint64, cause error) {
	l.log.Warn("log of the gateway: offsets cannot be read and are skipped", zap.String("topic", l.at.Name),
		zap.Uint64("from", l.next), zap.Uint64("before", to), zap.Error(cause))
	if !l.skipping {
		l.skipping, l.hole = true, l.next
	}
	l.next, l.tail = to, iggcon.MessageID{}
}

func (l *topicLog) takeAll(messages []iggcon.IggyMessage, end uint64, seen func(iggcon.MessageID, *record)) error {
	size := 0
	for i := range messages {
		m := &messages[i]
		if m.Header.Offset >= end {
			break
		}
		if m.Header.Offset < l.next {
			continue
		}
		if m.Header.Offset > l.next {
			l.skip(m.Header.Offset, errors.New("a gap"))
		}
		if err := l.take(m, seen); err != nil {
			return err
		}
		size += len(m.Payload)
	}
	fits := uint64(replyTarget * len(messages) / max(size, 1))
	l.limit = max(1, min(l.limit*2, fits, maxPoll))
	return nil
}

func (l *topicLog) take(m *iggcon.IggyMessage, seen func(iggcon.MessageID, *record)) error {
	r, err := decode(m.Payload)
	if errors.Is(err, errForeign) {
		l.log.Warn("log of the gateway: somebody else has written a message, which is ignored",
			zap.String("topic", l.at.Name), zap.Uint64("offset", m.Header.Offset))
		l.count(m.Header.Id, len(m.Payload))
		return nil
	}
	valid := false
	if err == nil {
		valid, err = l.state.apply(m.Header.Offset, &r)
	}
	if err != nil {
		return l.damaged(m.Header.Offset, err)
	}
	if valid && seen != nil {
		seen(m.Header.Id, &r)
	}
	l.count(m.Header.Id, len(m.Payload))
	return nil
}

func (l *topicLog) damaged(offset uint64, err error) error {
	return fmt.Errorf("%w: stream %s, topic %s, offset %d: %w", backend.ErrStorage, l.at.Stream, l.at.Name, offset, err)
}

// replay reads the whole log.
func (l *topicLog) replay(ctx context.Context, seen func(iggcon.MessageID, *record)) error {
	end, err := l.end(ctx)
	if err != nil {
		return err
	}
	return l.read(ctx, end, seen)
}

// notFound tells errors about a stream, topic or partition that is not there.
func notFound(err error) bool {
	switch client.Code(err) {
	case ierror.StreamIdNotFoundCode, ierror.StreamNameNotFoundCode, ierror.TopicIdNotFoundCode,
		ierror.TopicNameNotFoundCode, ierror.PartitionNotFoundCode:
		return true
	}
	return false
}

const (
	minPause = 10 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// pause waits before another attempt, longer each time.
func pause(ctx context.Context, attempt int) error {
	return sleep(ctx, min(maxPause, minPause<<min(attempt, 10)))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
