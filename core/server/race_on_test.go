//go:build race

package server

// The race detector keeps memory of its own for each goroutine.
const idleLimit = 64 << 10
