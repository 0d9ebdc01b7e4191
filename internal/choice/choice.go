// Package choice picks, of the candidates that a list of modules has, the one that a
// key of the configuration names.
package choice

import (
	"fmt"
	"slices"
	"strings"
)

// Of returns the candidate with a name, and false where name is one of the fixed
// words, which stand for none of them. A name that is neither, and one that two
// candidates have, or a candidate and a word, are errors; they begin with the key and
// say of what kind the candidates are, in the plural: "authorizers".
func Of[C any](key, kind, name string, candidates []C, nameOf func(C) string, words ...string) (found C, ok bool, err error) {
	names := slices.Clone(words)
	for _, c := range candidates {
		own := nameOf(c)
		if slices.Contains(names, own) {
			return found, false, fmt.Errorf("%s: two %s have the name %q", key, kind, own)
		}
		names = append(names, own)
		if own == name {
			found, ok = c, true
		}
	}
	if !ok && !slices.Contains(words, name) {
		slices.Sort(names) // the order of a value group is random
		err = fmt.Errorf("%s: %q is none of %s", key, name, strings.Join(names, ", "))
	}
	return found, ok, err
}
