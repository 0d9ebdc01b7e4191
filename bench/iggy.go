package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/twmb/franz-go/pkg/kgo"
)

const iggyScheme = "iggy://"

// iggyServer is an Iggy server under the load of its own Go SDK: what a gateway
// in front of it is compared with.
type iggyServer struct{ addr, user, password string }

// parseIggy reads iggy://user:password@host:port; without a user it takes the
// defaults of a fresh server.
func parseIggy(address string) (*iggyServer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not iggy://user:password@host:port", address)
	}
	s := &iggyServer{addr: u.Host, user: "iggy", password: "iggy"}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	return s, nil
}

// dial returns a client that has logged in. Nobody closes the SDK's clients for
// it: the caller does.
func (s *iggyServer) dial() (*tcp.IggyTcpClient, error) {
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(s.addr))
	if err != nil {
		return nil, err
	}
	if _, err := c.LoginUser(s.user, s.password); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

const iggyStream = "bench"

// topic makes a topic in the stream of this program.
func (s *iggyServer) topic(partitions int) (name string, drop func(), err error) {
	c, err := s.dial()
	if err != nil {
		return "", nil, err
	}
	stream := iggyName(iggyStream)
	if _, err := c.GetStream(stream); err != nil {
		if _, err := c.CreateStream(iggyStream); err != nil {
			return "", nil, errors.Join(err, c.Close())
		}
	}
	name = fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), topicNumber.Add(1))
	_, err = c.CreateTopic(stream, name, uint32(partitions), iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, math.MaxUint64, nil)
	if err != nil {
		return "", nil, errors.Join(err, c.Close())
	}
	return name, func() {
		_ = c.DeleteTopic(stream, iggyName(name))
		_ = c.Close()
	}, nil
}

// throughput writes and reads as a Kafka client does: as many connections, each
// with the partitions that are its own, and as many messages in a request as a
// Kafka client puts in a batch.
func (s *iggyServer) throughput(ctx context.Context, t *target, o options, size int, put sink) error {
	topic, drop, err := s.topic(o.partition)
	if err != nil {
		return err
	}
	defer drop()
	n := min(o.bytes/int64(size), maxRecords)
	mb := float64(n*int64(size)) / 1e6
	for _, half := range []struct {
		name string
		run  func(*tcp.IggyTcpClient, []share, int, int) error
	}{{"produce", sendMessages}, {"consume", pollMessages}} {
		before, begin := t.cost(), time.Now()
		err := each(o.clients, func(client int) error {
			c, err := s.dial()
			if err != nil {
				return err
			}
			return errors.Join(half.run(c, shares(topic, n, o, client), size, max(1, o.batch/size)), c.Close())
		})
		if err != nil {
			return err
		}
		label := fmt.Sprintf("%s %s acks=all", half.name, bytesText(size))
		put(label, "MB/s", mb/time.Since(begin).Seconds())
		putCPU(t, before, mb, label, put)
	}
	return ctx.Err()
}

// share is what one client has to do with one partition.
type share struct {
	topic     iggcon.Identifier
	partition uint32
	messages  int64
	done      int64
}

// shares divides n messages over the partitions and those over the clients.
func shares(topic string, n int64, o options, client int) (out []share) {
	for p := client; p < o.partition; p += o.clients {
		one := share{topic: iggyName(topic), partition: uint32(p), messages: n / int64(o.partition)}
		if int64(p) < n%int64(o.partition) {
			one.messages++
		}
		out = append(out, one)
	}
	return out
}

// sendMessages sends to the partitions in turn.
func sendMessages(c *tcp.IggyTcpClient, to []share, size, batch int) error {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(rand.Uint32())
	}
	messages := make([]iggcon.IggyMessage, batch)
	return inTurn(to, func(s *share) error {
		part := messages[:min(s.messages-s.done, int64(batch))]
		for i := range part {
			part[i] = iggcon.IggyMessage{Header: iggcon.NewMessageHeader(iggcon.MessageID{}, uint32(size), 0), Payload: payload}
		}
		s.done += int64(len(part))
		return c.SendMessages(iggyName(iggyStream), s.topic, iggcon.PartitionId(s.partition), part)
	})
}

// pollMessages polls the partitions in turn.
func pollMessages(c *tcp.IggyTcpClient, from []share, _, batch int) error {
	return inTurn(from, func(s *share) error {
		polled, err := c.PollMessages(iggyName(iggyStream), s.topic, iggcon.DefaultConsumer(),
			iggcon.OffsetPollingStrategy(uint64(s.done)), uint32(batch), false, &s.partition)
		if err == nil && len(polled.Messages) == 0 {
			err = fmt.Errorf("no message at offset %d of %d", s.done, s.messages)
		}
		if err == nil {
			s.done += int64(len(polled.Messages))
		}
		return err
	})
}

func inTurn(shares []share, do func(*share) error) error {
	for left := true; left; {
		left = false
		for i := range shares {
			if s := &shares[i]; s.done < s.messages {
				left = true
				if err := do(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// native measures from a record's send by the SDK to its arrival at a Kafka
// consumer of a gateway that keeps its topics in that server.
func native(ctx context.Context, t *target, o options, put sink) error {
	if o.native == "" {
		return errors.New("-native must name the Iggy server behind the gateway")
	}
	s, err := parseIggy(o.native)
	if err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	topic, drop, err := freshTopic(ctx, t, 1)
	if err != nil {
		return err
	}
	defer drop()
	consumer, err := t.client(kgo.ConsumeTopics(topic), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(ctx, o.duration+30*time.Second)
	defer cancel()
	var ms []float64
	for begin := time.Now(); len(ms) == 0 || time.Since(begin) < o.duration; {
		// Apart, and not in step with any poll.
		time.Sleep(200*time.Millisecond + time.Duration(rand.Int64N(int64(100*time.Millisecond))))
		value := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		message, err := iggcon.NewIggyMessage(value)
		if err != nil {
			return err
		}
		err = c.SendMessages(iggyName(o.stream), iggyName(topic), iggcon.PartitionId(0), []iggcon.IggyMessage{message})
		if err != nil {
			return err
		}
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		now := time.Now().UnixNano()
		fetches.EachRecord(func(r *kgo.Record) {
			ms = append(ms, float64(now-int64(binary.BigEndian.Uint64(r.Value)))/1e6)
		})
	}
	for _, p := range []float64{0.5, 0.99} {
		put(fmt.Sprintf("native record to consumer p%v", p*100), "ms", percentile(ms, p))
	}
	return nil
}

// iggyName is the identifier of a name that is known to be valid.
func iggyName(name string) iggcon.Identifier {
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		panic(err) // only for names of 0 or above 255 bytes
	}
	return id
}

// quietSDK takes away the lines that the SDK logs at every login.
func quietSDK() { log.SetOutput(io.Discard) }

func isIggy(address string) bool { return strings.HasPrefix(address, iggyScheme) }
