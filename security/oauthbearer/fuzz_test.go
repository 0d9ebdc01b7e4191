package oauthbearer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/security"
)

// Fuzz sends any message: nobody gets in without a signature, and what is refused is
// refused in order.
func Fuzz(f *testing.F) {
	const token = "eyJhbGciOiJFUzI1NiIsImtpZCI6Im9uZSJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6OTk5OTk5OTk5OX0.AAAA"
	for _, seed := range []string{
		"", "\x01", "n,,\x01auth=Bearer " + token + "\x01\x01", "n,a=alice,\x01auth=Bearer " + token + "\x01host=x\x01\x01",
		"n,a==2C,\x01auth=bearer  a.b.c\x01\x01", "y,,\x01\x01", "n,,\x01auth=Bearer ...\x01\x01",
	} {
		f.Add(seed)
	}
	s := script(answer{set: setOf(f, "one")})
	keys := keysOf(f, s)
	keys.log = zap.NewNop()
	require.NoError(f, keys.look(context.Background()))
	tokens, err := NewTokens(DefaultConfig(), keys)
	require.NoError(f, err)
	m := New(tokens)
	f.Fuzz(func(t *testing.T, message string) {
		_, done, err := m.Begin(security.Requester{}).Next(t.Context(), []byte(message))
		var why *sasl.Refused
		if done != nil || !errors.As(err, &why) {
			t.Fatalf("%q gets %v, %v", message, done, err)
		}
		if strings.Contains(err.Error(), "eyJ") {
			t.Fatalf("the error has the token: %v", err)
		}
	})
}
