// Package dispatch turns the payload of a request frame into the bytes of its
// answer: header, look-up, version, guard, decode, handler, encode.
//
// It holds no key number and no switch over keys: what it knows of a key is in
// its handler's Spec, collected once into a [Table]. What concerns every key,
// such as panics, metrics, the memory budget and [Middleware], is dealt with in
// one place each, around the handler call.
//
// # Errors
//
// [Dispatcher.Dispatch] returns an [*Error], and nothing else, when the
// connection has to close without an answer. It logs nothing and counts what is
// its own; the caller logs the error once. [NewTable] returns all faults of the
// handlers at once.
package dispatch
