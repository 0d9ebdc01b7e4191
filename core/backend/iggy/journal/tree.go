package journal

import "github.com/google/btree"

// tree holds the live pairs in the order of their keys. A clone of it is a
// moment that later changes leave alone.
type tree = btree.BTreeG[Change]

func newTree() *tree {
	return btree.NewG(32, func(a, b Change) bool { return a.Key < b.Key })
}
