package handler

import "math"

// Account is what quotas leave to one caller.
type Account interface {
	// Change charges the creation or deletion of partitions. With strict it may
	// refuse, and charges nothing then.
	Change(partitions int, strict bool) (ok bool)
	// MaxBytes is the largest answer that the caller may have at once.
	MaxBytes() int
}

// Change charges partitions that are about to be created or deleted to the
// caller's quota (KIP-599). Clients whose version of a key knows the code
// THROTTLING_QUOTA_EXCEEDED are refused when they are over it: they are strict. All
// others are throttled. Where it is false, nothing may be changed.
func (c Call) Change(partitions int, strict bool) (ok bool) {
	return c.Account == nil || c.Account.Change(partitions, strict)
}

// MaxBytes is how many bytes of records the answer may have so that the caller's
// quota lets it pass at all: more than fits into the quota's window would be held
// back again and again.
func (c Call) MaxBytes() int {
	if c.Account == nil {
		return math.MaxInt
	}
	return c.Account.MaxBytes()
}
