package plain

import (
	"fmt"
	"slices"

	"github.com/iggykafka/gateway/internal/choice"
)

// Candidate is what sasl.plain.passwords may name.
type Candidate struct {
	Name string
	// Auto says that it is the choice of a configuration that leaves it open.
	Auto bool
	// Make makes it, once, if it is the chosen one.
	Make func() (Passwords, error)
}

// key has [Auto] as a word, which Choose makes a name of.
var key = choice.Key[Candidate]{
	Name: "sasl.plain.passwords", Kind: "candidates", NameOf: func(c Candidate) string { return c.Name }, Words: []string{Auto},
}

// Choose returns PLAIN over the candidate of a name; [Auto] stands for the one that
// says so of itself, and else for [Scram]. Without any candidate it returns one that is
// not ready; a name that no candidate has, and one that two have, are errors.
func Choose(name string, candidates []Candidate) (*Mechanism, error) {
	if name == Auto {
		name = chooseAuto(candidates)
	}
	if len(candidates) == 0 {
		return &Mechanism{missing: fmt.Errorf("this gateway is built without anybody who knows passwords")}, nil
	}
	found, _, err := key.Of(name, candidates)
	if err != nil {
		return nil, err
	}
	passwords, err := found.Make()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", key.Name, name, err)
	}
	return New(passwords), nil
}

// chooseAuto returns the name of the candidate that Auto stands for.
func chooseAuto(candidates []Candidate) string {
	if i := slices.IndexFunc(candidates, func(c Candidate) bool { return c.Auto }); i >= 0 {
		return candidates[i].Name
	}
	return Scram
}
