package choice

import (
	"slices"

	"go.uber.org/fx"
)

// Words are all values that some keys may have in a gateway, as its modules know them.
type Words struct {
	// Keys are named as their texts name them: "listeners.NAME.protocol" is that key of
	// every listener.
	Keys  []string
	Names []string // sorted
}

// Out is what adds Words to those that a configuration is checked by. A module that
// looks for a name in a list of the graph provides one, from that very list.
type Out struct {
	fx.Out
	Words Words `group:"gateway.words"`
}

// In asks for the Words of all modules.
type In struct {
	fx.In
	Words []Words `group:"gateway.words"`
}

// Tell returns the names as Words of keys.
func Tell(names []string, keys ...string) Out {
	return Out{Words: Words{Keys: keys, Names: slices.Sorted(slices.Values(names))}}
}

// Tell returns the names of the candidates, and the key's words, as Words of it.
func (k Key[C]) Tell(candidates []C) Out {
	names := slices.Clone(k.Words)
	for _, c := range candidates {
		names = append(names, k.NameOf(c))
	}
	return Tell(names, k.Name)
}
