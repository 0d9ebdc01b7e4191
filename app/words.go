package app

import (
	"errors"
	"slices"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/internal/choice"
)

// ownWords are the values of keys that take one of a few words, whatever the modules.
var ownWords = map[string][]string{
	"storage.backend":               chosen.Choices(),
	"groups.retain_client_identity": {string(coordinator.Auto), string(coordinator.On), string(coordinator.Off)},
	"log.level":                     {"debug", "info", "warn", "error"},
	"log.format":                    {"console", "json"},
}

// wordsOf asks the modules for the values of keys that name one of them, by the general
// names of keys. Modules know them from the graph, so one is put together, of the
// defaults, which let every candidate be: it is not started, and what the modules invoke
// is not. Where they do not fit together there are none, and the start tells of that.
func wordsOf(modules []fx.Option) map[string][]string {
	words := map[string][]string{}
	enough := errors.New("nothing else is to be made")
	fx.New(
		loaded{Config: DefaultConfig()}.options(zap.NewNop()),
		fx.Module("words", fx.Invoke(func(in choice.In) error { // before all others, as the first module
			for _, w := range in.Words {
				for _, key := range w.Keys {
					words[key] = w.Names
				}
			}
			return enough
		})),
		fx.Options(modules...),
	)
	return words
}

// wrongWords returns what is wrong with a key that takes one of a few words, or several of
// them. That words of modules are missing is left to these.
func wrongWords(f field, ofModules map[string][]string) (faults []error) {
	allowed, own := ownWords[f.key]
	if !own {
		allowed = ofModules[general(f.key)]
	}
	if allowed == nil {
		return nil
	}
	values, several := f.value.Interface().([]string)
	if !several {
		values = []string{f.value.String()}
	}
	for _, value := range values {
		if !slices.Contains(allowed, value) && (own || value != "") {
			faults = append(faults, choice.NoneOf(value, allowed))
		}
	}
	return faults
}
