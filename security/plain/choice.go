package plain

import (
	"fmt"
	"slices"
	"strings"
)

// Candidate is what sasl.plain.passwords may name.
type Candidate struct {
	Name string
	// Make makes it, once, if it is the chosen one.
	Make func() (Passwords, error)
}

// Choose returns PLAIN over the candidate of a name. Without any candidate it
// returns one that is not ready; a name that no candidate has, and one that two
// have, are errors.
func Choose(name string, candidates []Candidate) (*Mechanism, error) {
	var names []string
	var found *Candidate
	for i, c := range candidates {
		if slices.Contains(names, c.Name) {
			return nil, fmt.Errorf("sasl.plain.passwords: two candidates have the name %q", c.Name)
		}
		names = append(names, c.Name)
		if c.Name == name {
			found = &candidates[i]
		}
	}
	switch {
	case len(candidates) == 0:
		return &Mechanism{missing: fmt.Errorf("this gateway is built without anybody who knows passwords")}, nil
	case found == nil:
		slices.Sort(names) // the order of a value group is random
		return nil, fmt.Errorf("sasl.plain.passwords: %q is none of %s", name, strings.Join(names, ", "))
	}
	passwords, err := found.Make()
	if err != nil {
		return nil, fmt.Errorf("sasl.plain.passwords: %s: %w", name, err)
	}
	return New(passwords), nil
}
