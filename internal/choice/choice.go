// Package choice picks, of the candidates that a list of modules has, the one that a
// key of the configuration names, and tells which names there are.
package choice

import (
	"fmt"
	"slices"
	"strings"
)

// Key is a key of the configuration whose value names one of the candidates in a list.
type Key[C any] struct {
	Name   string // "groups.coordinator"
	Kind   string // what candidates are, in the plural: "coordinators"
	NameOf func(C) string
	// Words are further values, which stand for none of the candidates.
	Words []string
}

// Of returns the candidate with a name, and false where name is one of the key's words.
// A name that is neither, and one that two candidates have, or a candidate and a word,
// are errors; they begin with the key.
func (k Key[C]) Of(name string, candidates []C) (found C, ok bool, err error) {
	names := slices.Clone(k.Words)
	for _, c := range candidates {
		own := k.NameOf(c)
		if slices.Contains(names, own) {
			return found, false, fmt.Errorf("%s: two %s have the name %q", k.Name, k.Kind, own)
		}
		names = append(names, own)
		if own == name {
			found, ok = c, true
		}
	}
	if !ok && !slices.Contains(k.Words, name) {
		slices.Sort(names) // the order of a value group is random
		err = fmt.Errorf("%s: %w", k.Name, NoneOf(name, names))
	}
	return found, ok, err
}

// NoneOf is the error of a value that is not one of the names.
func NoneOf(value string, names []string) error {
	return fmt.Errorf("%q is none of %s", value, strings.Join(names, ", "))
}
