// Package backendtest holds what tests of backends and of their users share:
// Conform, the suite that every backend passes, and Failing, a backend that
// always fails.
package backendtest
