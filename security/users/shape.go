package users

import (
	"cmp"

	"github.com/iggykafka/gateway/core/security"
)

// shapes counts the shapes of credentials, by mechanism.
type shapes map[int8]map[security.ScramShape]int

func (s shapes) add(mechanism int8, c security.ScramCredential) {
	if s[mechanism] == nil {
		s[mechanism] = map[security.ScramShape]int{}
	}
	s[mechanism][c.Shape()]++
}

func (s shapes) remove(mechanism int8, c security.ScramCredential) {
	shape := c.Shape()
	if s[mechanism][shape]--; s[mechanism][shape] == 0 {
		delete(s[mechanism], shape)
	}
}

// typical returns the most frequent shape of two counts together, of equally frequent
// ones always the same.
func typical(one, other map[security.ScramShape]int) security.ScramShape {
	best, most := security.KafkaScramShape, 0
	look := func(shape security.ScramShape) {
		n := one[shape] + other[shape]
		if cmp.Or(cmp.Compare(n, most), cmp.Compare(best.Iterations, shape.Iterations), cmp.Compare(best.SaltLength, shape.SaltLength)) > 0 {
			best, most = shape, n
		}
	}
	for shape := range one {
		look(shape)
	}
	for shape := range other {
		look(shape)
	}
	return best
}
