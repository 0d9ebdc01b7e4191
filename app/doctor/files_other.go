//go:build !unix

package doctor

// openFiles returns nothing: there is no such limit, or no way to learn it.
func openFiles() (n uint64, known bool) { return 0, false }
