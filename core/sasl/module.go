package sasl

import "go.uber.org/fx"

// Out is what adds a mechanism to those that sasl.mechanisms may name.
type Out struct {
	fx.Out
	Mechanism Mechanism `group:"gateway.mechanisms"`
}
