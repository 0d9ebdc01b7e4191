package quotas

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/choice"
)

// Candidate keeps quotas, if quotas.keeper names it. One that also implements
// security.QuotaList is managed with the keys 48 and 49, by kafka-configs.
type Candidate struct {
	Name string
	// Make makes it, once, if it is the chosen one. Only then may it have hooks in
	// the graph's lifecycle.
	Make func() (security.Quotas, error)
}

// Out is what adds a candidate to the list.
type Out struct {
	fx.Out
	Candidate Candidate `group:"gateway.quotas"`
}

// Module provides the chosen security.Quotas, and its security.QuotaList; each is nil
// where there is none. It asks for a [Config], and else for the defaults. A name that
// no candidate has, and one that two have, stop the start.
var Module = fx.Module("quotas", fx.Provide(provide, words))

// StoredCandidate adds the keeper "stored", the quotas in the backend, to the list.
var StoredCandidate = fx.Provide(func(p storedParams) Out {
	return Out{Candidate: Candidate{Name: Stored, Make: func() (security.Quotas, error) { return p.make() }}}
})

type storedParams struct {
	fx.In
	Config    Config `optional:"true"`
	Lifecycle fx.Lifecycle
	Backend   backend.Backend
	Metrics   prometheus.Registerer `optional:"true"`
}

func (p storedParams) make() (*Quotas, error) {
	q := New(p.Backend, orDefault(p.Config))
	p.Lifecycle.Append(fx.StartStopHook(func(ctx context.Context) error { return q.Load(ctx) }, q.Close))
	if p.Metrics == nil {
		return q, nil
	}
	return q, p.Metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "kafka_gateway", Name: "quota_accounts",
		Help: "Clients, or groups of them that share a quota, whose use is remembered; see quotas.max_accounts.",
	}, func() float64 { return float64(q.accounts.len()) }))
}

type params struct {
	fx.In
	Config     Config      `optional:"true"`
	Candidates []Candidate `group:"gateway.quotas"`
}

type results struct {
	fx.Out
	Quotas security.Quotas
	List   security.QuotaList
}

// orDefault is the section, or its defaults where there is none.
func orDefault(c Config) Config {
	if c == (Config{}) {
		return DefaultConfig()
	}
	return c
}

var keepers = choice.Key[Candidate]{
	Name: "quotas.keeper", Kind: "keepers", NameOf: func(c Candidate) string { return c.Name }, Words: []string{None},
}

func words(p params) choice.Out { return keepers.Tell(p.Candidates) }

func provide(p params) (results, error) {
	c := orDefault(p.Config)
	if err := c.Validate(); err != nil {
		return results{}, err
	}
	made, err := choose(c.Keeper, p.Candidates)
	if made == nil {
		return results{}, err
	}
	list, _ := made.(security.QuotaList)
	return results{Quotas: made, List: list}, nil
}

// choose makes the candidate with a name; nil for None.
func choose(name string, candidates []Candidate) (security.Quotas, error) {
	chosen, ok, err := keepers.Of(name, candidates)
	if !ok {
		return nil, err
	}
	made, err := chosen.Make()
	if err == nil && made == nil {
		err = errors.New("nothing was made")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", keepers.Name, name, err)
	}
	return made, nil
}
