// Package journal keeps what the gateway itself owns in a topic of Iggy: a log of
// changes to a sorted map of keys and values, replayed at start, cut by
// generations, and owned by one gateway at a time through a lease.
package journal

import "iter"

// Change sets a key, or deletes it when Value is nil.
type Change struct {
	Key   string
	Value []byte
}

// View is what a Journal holds now.
type View interface {
	Get(key string) ([]byte, bool)
	// Scan yields the pairs whose keys begin with prefix, in the order of their
	// keys, as they were at one moment. Values must not be changed.
	Scan(prefix string) iter.Seq2[string, []byte]
}
