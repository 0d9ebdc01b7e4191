package scram

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha512"

	"github.com/iggykafka/gateway/core/security"
)

// fakes makes credentials of users that do not exist. They are made from a secret, so
// that a name has the same salt whenever it is asked for: that of the users, or, where
// they have none, one of the process.
type fakes struct {
	kept security.ScramFakes // nil: there are none
	own  []byte
}

func newFakes(users security.ScramCredentials) fakes {
	f := fakes{own: make([]byte, sha512.Size)}
	rand.Read(f.own) // it never fails
	f.kept, _ = users.(security.ScramFakes)
	return f
}

func (f fakes) secret() []byte {
	if f.kept != nil {
		if secret := f.kept.ScramFakeSecret(); len(secret) > 0 {
			return secret
		}
	}
	return f.own
}

// shapeOf tells how most credentials look, as far as it is known.
func shapeOf(users security.ScramCredentials, mechanism int8) security.ScramShape {
	if s, ok := users.(security.ScramShapes); ok {
		return s.TypicalScramShape(mechanism)
	}
	return security.KafkaScramShape
}

// credential returns the false credential of a user. Salts are far below the 16,320
// bytes that Expand can make, so it does not fail.
func (f fakes) credential(mechanism int8, user string, shape security.ScramShape) security.ScramCredential {
	size := security.ScramHash(mechanism)().Size()
	raw, _ := hkdf.Expand(sha512.New, f.secret(), security.ScramName(mechanism)+"/"+user, shape.SaltLength+2*size)
	salt := raw[:shape.SaltLength]
	if shape.SaltIsText {
		for i, b := range salt {
			salt[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[int(b)%36]
		}
	}
	return security.ScramCredential{
		Iterations: shape.Iterations,
		Salt:       salt,
		StoredKey:  raw[len(salt) : len(salt)+size],
		ServerKey:  raw[len(salt)+size:],
	}
}
