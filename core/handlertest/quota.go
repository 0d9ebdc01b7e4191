package handlertest

// Account is a handler.Account with a budget, as Kafka's bucket of changes is one: a
// change may take it below zero, and then strict callers are refused.
type Account struct {
	Left    int // partitions
	Changed int // partitions that were charged
	Most    int // what MaxBytes returns
}

// Change implements handler.Account.
func (a *Account) Change(partitions int, strict bool) bool {
	if strict && a.Left < 0 {
		return false
	}
	a.Left -= partitions
	a.Changed += partitions
	return true
}

// MaxBytes implements handler.Account.
func (a *Account) MaxBytes() int { return a.Most }
