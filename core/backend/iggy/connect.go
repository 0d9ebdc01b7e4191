package iggy

import (
	"context"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/journal"
)

// The store uses these through interfaces, so that its tests can stand in for
// them.
var (
	_ server = (*client.Client)(nil)
	_ ledger = (*journal.Journal)(nil)
)

func dial(cfg Config, opts Options) (server, error) {
	c, err := client.New(cfg.Config, client.Options{Log: opts.Log, Metrics: opts.Metrics, Own: cfg.InternalStream})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func openLedger(ctx context.Context, s server, cfg Config, opts Options) (ledger, error) {
	j, err := journal.Open(ctx, s, journal.Options{
		Stream: cfg.InternalStream, Log: opts.Log, AcceptLoss: cfg.AcceptTruncation, Patience: opts.ledgerPatience,
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}
