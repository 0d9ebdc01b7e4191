// Package chosen is the coordinator that the configuration names: of those in the
// list that builds the gateway it makes one and leaves the others alone.
//
// A coordinator stands in the list by an option of its package that provides an
// [Out], its name and how it is made:
//
//	fx.Options(chosen.Module, memory.Candidate, durable.Candidate)
//
// Which names there are is known from the list alone.
package chosen

import (
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/internal/choice"
)

// Candidate is a coordinator that groups.coordinator may name.
type Candidate struct {
	Name string
	// Make makes it, once, if it is the chosen one. Only then may it have hooks in
	// the graph's lifecycle.
	Make func() coordinator.Coordinator
}

// Out is what adds a candidate to the list.
type Out struct {
	fx.Out
	Candidate Candidate `group:"gateway.coordinators"`
}

// Module provides the chosen coordinator. It asks for a coordinator.Config. A name
// that no candidate has, and one that two have, stop the start.
var Module = fx.Module("coordinator", fx.Provide(provide, words))

type params struct {
	fx.In
	Config     coordinator.Config
	Candidates []Candidate `group:"gateway.coordinators"`
}

var key = choice.Key[Candidate]{
	Name: "groups.coordinator", Kind: "coordinators", NameOf: func(c Candidate) string { return c.Name },
}

func words(p params) choice.Out { return key.Tell(p.Candidates) }

func provide(p params) (coordinator.Coordinator, error) {
	chosen, _, err := key.Of(p.Config.Coordinator, p.Candidates)
	if err != nil {
		return nil, err
	}
	return chosen.Make(), nil
}
