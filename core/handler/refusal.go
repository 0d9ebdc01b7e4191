package handler

// Refusal is a Go error that is the client's own doing: its request was refused, and
// there is no answer that could say so, as to a Produce with acks=0. It closes the
// connection like every other, but is nothing that an operator has to look at: the log
// tells of it at debug.
type Refusal struct{ Err error }

// Error is the cause's.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }
