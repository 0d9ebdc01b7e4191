package handler

import "go.uber.org/fx"

// Out is what a handler's fx module returns: it adds the handler to the table.
type Out struct {
	fx.Out
	Handler Handler `group:"gateway.handlers"`
}

// Replacement takes a key over from the handler that serves it. A replacement
// for a key nobody serves, and a second one for the same key, stop the start.
// To wrap a handler, call its package's New:
//
//	handler.Replacement{Handler: audit(describegroups.New(groups))}
type Replacement struct {
	fx.Out
	Handler Handler `group:"gateway.replacements"`
}

// In is what the dispatcher's table is built from. The order of a value group
// is random; the table sorts.
type In struct {
	fx.In
	Handlers     []Handler `group:"gateway.handlers"`
	Replacements []Handler `group:"gateway.replacements"`
}
