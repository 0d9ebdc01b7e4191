package client

import (
	"context"
	"errors"
	"slices"
	"time"

	ierror "github.com/apache/iggy/foreign/go/errors"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
)

const (
	// settleFirst and settleMost are the waits between two looks at the server's
	// clients.
	settleFirst = 5 * time.Millisecond
	settleMost  = 200 * time.Millisecond
	// settleBlind is how long a server that answers, but does not say who is
	// connected, is given to finish with a lost connection.
	settleBlind = time.Second
	// settleGrace is given to it after a silence even when the connection is not
	// listed: a server that verifies heartbeats strikes out what was silent before
	// it reads what that had sent.
	settleGrace = 100 * time.Millisecond
)

// Settle is Data. The server lists a connection until the loop that reads its
// requests has ended, so one that is not listed has nothing left to execute, and
// a server that was restarted lists none of before. It waits, up to ctx, for a
// server that is away.
func (c *Client) Settle(ctx context.Context, lost *Lost) error {
	// A server that answers yet lists the connection to the end has lost track of
	// it (it does when the reply to the request that moved a connection between
	// its shards cannot be sent): the requests are long executed then.
	patience := 2 * c.cfg.RequestTimeout
	var since time.Time // the first answer
	for pause := settleFirst; ; pause = min(2*pause, settleMost) {
		listed, err := c.lists(ctx, lost.connection)
		switch {
		case err == nil && !listed:
			return c.grace(ctx, lost)
		case Code(err) == ierror.UnauthorizedCode:
			c.unlisted.Do(func() {
				c.log.Warn("the Iggy user may not list clients: after a lost request the gateway waits a fixed time instead; give it the global permission read_servers",
					zap.Duration("wait", settleBlind))
			})
			return sleep(ctx, settleBlind)
		case err != nil && !errors.Is(err, backend.ErrUnavailable):
			return err
		case err == nil && since.IsZero():
			since = time.Now()
		case err == nil && time.Since(since) > patience:
			c.log.Warn("the Iggy server still lists a connection that ended long ago; going on without it", zap.String("connection", lost.connection))
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *Client) grace(ctx context.Context, lost *Lost) error {
	if !lost.silent {
		return nil
	}
	return sleep(ctx, settleGrace)
}

// lists tells whether the connection is among the server's clients.
func (c *Client) lists(ctx context.Context, connection string) (bool, error) {
	clients, err := c.Clients(ctx)
	return slices.Contains(clients, connection), err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
