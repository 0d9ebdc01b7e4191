package plain_test

import (
	"bytes"
	"testing"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/plain"
)

// Fuzz sends any token: nobody gets in without the password.
func Fuzz(f *testing.F) {
	for _, seed := range []string{"", "\x00", "\x00alice\x00x", "alice\x00alice\x00" + secret, "a\x00b\x00c\x00d", "\xff\x00\xff\x00\xff"} {
		f.Add([]byte(seed))
	}
	m := plain.New(passwords{"alice": secret})
	f.Fuzz(func(t *testing.T, token []byte) {
		given := bytes.Clone(token)
		_, done, err := m.Begin(security.Requester{}).Next(t.Context(), token)
		if (done == nil) != (err != nil) {
			t.Fatalf("a login of %v and an error of %v", done, err)
		}
		if done != nil && (done.Principal != security.User("alice") || !bytes.HasSuffix(given, []byte(secret))) {
			t.Fatalf("%q logs in as %v", given, done.Principal)
		}
	})
}
