// Package porttest reserves ports of 127.0.0.1 for servers that tests start by a
// given address, once or again and again.
package porttest

import "testing"

// Address returns host:port of a port that nobody else gets until the test ends. Who
// asks for that very address can listen there.
func Address(t testing.TB) string {
	t.Helper()
	p, err := Reserve()
	if err != nil {
		t.Fatalf("porttest: %v", err)
	}
	t.Cleanup(p.Release)
	return p.Address
}
