package chosen

import (
	"fmt"
	"strings"

	"go.uber.org/fx"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/iggy"
)

// Module provides the chosen backend. It asks for a Choice and for what the
// modules of all backends ask for; it makes none but the chosen one, and only
// that one has hooks in the graph's lifecycle.
var Module = fx.Module("backend", fx.Provide(provide))

type params struct {
	fx.In
	Choice   Choice
	Embedded embedded.Params
	Iggy     iggy.Params
}

func provide(p params) (backend.Backend, error) {
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
