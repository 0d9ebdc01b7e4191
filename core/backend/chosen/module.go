package chosen

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/measured"
	"github.com/iggykafka/gateway/core/tracing"
)

// Module provides the chosen backend, and, where that is an Iggy server, the store over
// it, for what knows Iggy's users; that is nil with another backend. It asks for a
// Choice and for what the modules of all backends ask for; it makes none but the chosen
// one, and only that one has hooks in the graph's lifecycle.
var Module = fx.Module("backend", fx.Provide(provide))

type params struct {
	fx.In
	Choice   Choice
	Embedded embedded.Params
	Iggy     iggy.Params
	Metrics  prometheus.Registerer `optional:"true"`
	Tracer   *tracing.Tracer       `optional:"true"`
}

type results struct {
	fx.Out
	Backend backend.Backend
	Iggy    *iggy.Store
}

func provide(p params) (results, error) {
	b, err := p.choose()
	if err != nil {
		return results{}, err
	}
	store, _ := b.(*iggy.Store)
	if p.Metrics != nil {
		b, err = measured.New(b, p.Metrics, p.Tracer)
	}
	return results{Backend: b, Iggy: store}, err
}

func (p params) choose() (backend.Backend, error) {
	switch p.Choice {
	case Embedded:
		return embedded.Provide(p.Embedded), nil
	case Memory:
		return embedded.ProvideInMemory(p.Embedded), nil
	case Iggy:
		return iggy.Provide(p.Iggy), nil
	}
	return nil, fmt.Errorf("storage.backend: %q is none of %s", p.Choice, strings.Join(Choices(), ", "))
}
