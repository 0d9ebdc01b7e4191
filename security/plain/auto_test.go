package plain_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/security/plain"
)

// Auto stands for the candidate that says so, and else for the users of SCRAM.
func TestAuto(t *testing.T) {
	t.Parallel()
	candidate := func(name string, auto bool) plain.Candidate {
		return plain.Candidate{Name: name, Auto: auto, Make: func() (plain.Passwords, error) { return nil, errors.New("made " + name) }}
	}
	for want, auto := range map[string]bool{"made iggy": true, "made scram": false} {
		_, err := plain.Choose(plain.Auto, []plain.Candidate{candidate(plain.Scram, false), candidate("iggy", auto)})
		require.ErrorContains(t, err, want)
	}
	_, err := plain.Choose(plain.Auto, []plain.Candidate{candidate("mine", false)})
	require.EqualError(t, err, `sasl.plain.passwords: "scram" is none of auto, mine`)
	m, err := plain.Choose(plain.Auto, nil)
	require.NoError(t, err)
	require.Error(t, m.Ready())
}
