package quotas

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/securitytest"
)

type graph struct {
	fx.In
	Quotas security.Quotas
	List   security.QuotaList
}

// compose makes a graph with a configuration, and further options.
func compose(keeper string, reg prometheus.Registerer, got *graph, opts ...fx.Option) (*fx.App, error) {
	c := DefaultConfig()
	c.Keeper = keeper
	options := fx.Options(fx.NopLogger, Module, StoredCandidate, fx.Supply(c),
		fx.Provide(func() backend.Backend { return kept{entries: &securitytest.Entries{}} }), fx.Provide(func() prometheus.Registerer { return reg }),
		fx.Options(opts...), fx.Populate(got))
	app := fx.New(options)
	if err := app.Err(); err != nil {
		return nil, err
	}
	return app, nil
}

// kept is a backend of which only the entries may be used.
type kept struct {
	backend.Backend
	entries *securitytest.Entries
}

func (k kept) Entries(ctx context.Context, kind string) (map[string][]byte, error) {
	return k.entries.Entries(ctx, kind)
}

func (k kept) ChangeEntries(ctx context.Context, kind string, changes map[string][]byte) error {
	return k.entries.ChangeEntries(ctx, kind, changes)
}

func candidate(name string, q security.Quotas, err error) fx.Option {
	return fx.Provide(func() Out {
		return Out{Candidate: Candidate{Name: name, Make: func() (security.Quotas, error) { return q, err }}}
	})
}

// bounds are quotas that nobody can manage.
type bounds struct{ security.Quotas }

func TestModule(t *testing.T) {
	t.Parallel()
	var got graph
	reg := prometheus.NewRegistry()
	app, err := compose(Stored, reg, &got)
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	defer func() { require.NoError(t, app.Stop(context.Background())) }()
	securitytest.SetQuota(t, got.List, securitytest.Entity("user", "alice"), "producer_byte_rate", 1)
	require.NotZero(t, got.Quotas.Use(securitytest.Requester("alice", ""), security.ProducedBytes, 1000))
	n, err := testutil.GatherAndCount(reg, "kafka_gateway_quota_accounts")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// Another module's keeper is chosen by its name; the others are not made.
func TestAnotherKeeper(t *testing.T) {
	t.Parallel()
	var got graph
	mine := bounds{}
	_, err := compose("mine", prometheus.NewRegistry(), &got,
		candidate("mine", mine, nil), candidate("broken", nil, errors.New("made without need")))
	require.NoError(t, err)
	require.Equal(t, mine, got.Quotas)
	require.Nil(t, got.List)

	got = graph{}
	_, err = compose(None, prometheus.NewRegistry(), &got)
	require.NoError(t, err)
	require.Nil(t, got.Quotas)

	_, err = compose("nobody", prometheus.NewRegistry(), &got, candidate("mine", mine, nil))
	require.ErrorContains(t, err, `quotas.keeper: "nobody" is none of mine, none, stored`)
	_, err = compose("mine", prometheus.NewRegistry(), &got, candidate("mine", mine, nil), candidate("mine", mine, nil))
	require.ErrorContains(t, err, `quotas.keeper: two keepers have the name "mine"`)
	_, err = compose("mine", prometheus.NewRegistry(), &got, candidate("mine", nil, errors.New("no luck")))
	require.ErrorContains(t, err, "quotas.keeper: mine: no luck")
	_, err = compose("mine", prometheus.NewRegistry(), &got, candidate("mine", nil, nil))
	require.ErrorContains(t, err, "quotas.keeper: mine: nothing was made")
}
