package client

import (
	"context"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// Send is Data. It goes past the SDK (messages.go).
func (c *Client) Send(ctx context.Context, t Topic, partition uint32, messages []iggcon.IggyMessage) error {
	_, err := c.SendBy(ctx, 0, t, partition, messages)
	return err
}

// SendBy is Writer.
func (c *Client) SendBy(ctx context.Context, connection uint64, t Topic, partition uint32, messages []iggcon.IggyMessage) (uint64, error) {
	if err := t.valid(); err != nil {
		return 0, err
	}
	var last *request
	lane, queue := c.sending(t, partition)
	err := lane.call(ctx, queue, c.cfg.RequestTimeout, func() *request {
		last = newRequest(opSend, true, func(s *session) error { return s.send(t, partition, messages) })
		last.sends, last.only = true, connection
		return last
	})
	if err != nil {
		return 0, err
	}
	return last.by, nil
}

// Poll is Data. It goes past the SDK (messages.go), and leaves nothing behind in
// the server: the consumer is a single one that commits nothing.
func (c *Client) Poll(ctx context.Context, t Topic, partition uint32, from iggcon.PollingStrategy, count uint32) (Polled, error) {
	if err := t.valid(); err != nil {
		return Polled{}, err
	}
	var polled Polled
	lane, queue := c.polling(t)
	err := lane.call(ctx, queue, c.cfg.RequestTimeout, func() *request {
		return newRequest(opPoll, false, func(s *session) (err error) {
			polled, err = s.pollMessages(t, partition, from, count)
			return err
		})
	})
	if err != nil {
		return Polled{}, err
	}
	return polled, nil
}

// read makes a call that changes nothing, on any connection of the lane.
func (c *Client) read(ctx context.Context, l *lane, op operation, run func(iggcon.Client) error) error {
	return l.call(ctx, l.any(), c.cfg.RequestTimeout, func() *request { return bySDK(op, false, run) })
}

// change makes a call that changes something, and makes or deletes so many
// partitions by it.
func (c *Client) change(ctx context.Context, partitions uint32, op operation, run func(iggcon.Client) error) error {
	return c.admin.call(ctx, c.admin.any(), c.cfg.RequestTimeout, func() *request {
		r := bySDK(op, true, run)
		r.more = time.Duration(partitions) * perPartition
		return r
	})
}

func bySDK(op operation, changes bool, run func(iggcon.Client) error) *request {
	return newRequest(op, changes, func(s *session) error { return run(s.sdk) })
}

// Stats returns what the server says about itself; the user needs the permission
// read_servers (code 41 otherwise).
func (c *Client) Stats(ctx context.Context) (*iggcon.Stats, error) {
	var stats *iggcon.Stats
	err := c.read(ctx, c.admin, opGetStats, func(sdk iggcon.Client) (err error) {
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
	err := c.read(ctx, c.admin, opGetClients, func(sdk iggcon.Client) (err error) {
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
