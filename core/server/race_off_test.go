//go:build !race

package server

// idleLimit is what a connection without a request in work may cost, in bytes.
const idleLimit = 16 << 10
