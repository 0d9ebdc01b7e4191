package client

import (
	"context"
	"fmt"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// ids are the identifiers of a topic and its stream.
func (t Topic) ids() (stream, topic iggcon.Identifier, err error) {
	if stream, err = iggcon.NewIdentifier(t.Stream); err == nil {
		topic, err = iggcon.NewIdentifier(t.Name)
	}
	return stream, topic, err
}

// Send is Data.
func (c *Client) Send(ctx context.Context, t Topic, partition uint32, messages []iggcon.IggyMessage) error {
	stream, topic, err := t.ids()
	if err != nil {
		return err
	}
	to := iggcon.PartitionId(partition)
	return c.send.call(ctx, c.send.of(t, partition), c.cfg.RequestTimeout, func() *request {
		r := newRequest(true, func(sdk iggcon.Client) error { return sdk.SendMessages(stream, topic, to, messages) })
		r.sends = true
		return r
	})
}

// Poll is Data. It leaves nothing behind in the server: the consumer is a single
// one that commits nothing.
func (c *Client) Poll(ctx context.Context, t Topic, partition uint32, from iggcon.PollingStrategy, count uint32) (Polled, error) {
	stream, topic, err := t.ids()
	if err != nil {
		return Polled{}, err
	}
	var polled *iggcon.PolledMessage
	err = c.read(ctx, c.poll, func(sdk iggcon.Client) (err error) {
		polled, err = sdk.PollMessages(stream, topic, iggcon.DefaultConsumer(), from, count, false, &partition)
		return whole(polled, err)
	})
	if err != nil {
		return Polled{}, err
	}
	return Polled{Current: polled.CurrentOffset, Count: polled.MessageCount, Messages: polled.Messages}, nil
}

// whole looks for messages that the SDK has silently left out. It always leaves
// out a last one whose payload is empty.
func whole(p *iggcon.PolledMessage, err error) error {
	if err != nil || uint64(len(p.Messages))+1 >= uint64(p.MessageCount) {
		return err
	}
	return fmt.Errorf("%w: %d of %d messages", ErrBadReply, len(p.Messages), p.MessageCount)
}

// read makes a call that changes nothing, on any connection of the lane.
func (c *Client) read(ctx context.Context, l *lane, run func(iggcon.Client) error) error {
	return l.call(ctx, l.any(), c.cfg.RequestTimeout, func() *request { return newRequest(false, run) })
}

// change makes a call that changes something.
func (c *Client) change(ctx context.Context, run func(iggcon.Client) error) error {
	return c.admin.call(ctx, c.admin.any(), c.cfg.RequestTimeout, func() *request { return newRequest(true, run) })
}

// Stats returns what the server says about itself; the user needs the permission
// read_servers (code 41 otherwise).
func (c *Client) Stats(ctx context.Context) (*iggcon.Stats, error) {
	var stats *iggcon.Stats
	err := c.read(ctx, c.admin, func(sdk iggcon.Client) (err error) {
		stats, err = sdk.GetStats()
		return err
	})
	if err != nil {
		return nil, err
	}
	return stats, nil
}

// Clients is Peers; the user needs the permission read_servers (code 41
// otherwise).
func (c *Client) Clients(ctx context.Context) ([]string, error) {
	var clients []iggcon.ClientInfo
	err := c.read(ctx, c.admin, func(sdk iggcon.Client) (err error) {
		clients, err = sdk.GetClients()
		return err
	})
	if err != nil {
		return nil, err
	}
	addresses := make([]string, len(clients))
	for i, client := range clients {
		addresses[i] = client.Address
	}
	return addresses, nil
}

// Locals is Peers: the addresses as the server sees them.
func (c *Client) Locals() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	locals := make([]string, 0, len(c.live))
	for s := range c.live {
		locals = append(locals, s.me)
	}
	return locals
}
