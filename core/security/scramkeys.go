package security

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

// The bounds of a credential's iterations, as Kafka has them.
const (
	MinScramIterations = 4096
	MaxScramIterations = 16384
)

// ScramMechanisms are the mechanisms, by number.
var ScramMechanisms = []int8{ScramSHA256, ScramSHA512}

// ScramName is the name of a mechanism in SASL: "SCRAM-SHA-256". It is empty for a
// number that is none.
func ScramName(mechanism int8) string {
	switch mechanism {
	case ScramSHA256:
		return "SCRAM-SHA-256"
	case ScramSHA512:
		return "SCRAM-SHA-512"
	}
	return ""
}

// ScramHash is the hash function of a mechanism, nil for a number that is none.
func ScramHash(mechanism int8) func() hash.Hash {
	switch mechanism {
	case ScramSHA256:
		return sha256.New
	case ScramSHA512:
		return sha512.New
	}
	return nil
}

// NewScramCredential makes a credential of a salted password (RFC 5802, 3), which
// is what clients of AlterUserScramCredentials send. The salt is kept, the salted
// password is not. It panics for a mechanism that does not exist, and a salted
// password without bytes is nobody's.
func NewScramCredential(mechanism int8, saltedPassword, salt []byte, iterations int32) ScramCredential {
	h := ScramHash(mechanism)
	stored := h()
	stored.Write(scramMAC(h, saltedPassword, "Client Key"))
	return ScramCredential{
		Iterations: iterations,
		Salt:       salt,
		StoredKey:  stored.Sum(nil),
		ServerKey:  scramMAC(h, saltedPassword, "Server Key"),
	}
}

func scramMAC(h func() hash.Hash, key []byte, text string) []byte {
	mac := hmac.New(h, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// ScramShape is what of a credential is shown to everybody who begins a login.
type ScramShape struct {
	Iterations int32
	SaltLength int // bytes
	// SaltIsText says that all of the salt are lower-case letters and digits, as
	// Kafka's own tools make it.
	SaltIsText bool
}

// KafkaScramShape is that of a credential that kafka-configs makes when it is told
// nothing but the password.
var KafkaScramShape = ScramShape{Iterations: MinScramIterations, SaltLength: 26, SaltIsText: true}

// Shape returns the shape of a credential.
func (c ScramCredential) Shape() ScramShape {
	text := !bytes.ContainsFunc(c.Salt, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return ScramShape{c.Iterations, len(c.Salt), text}
}

// ScramShapes is what [ScramCredentials] may tell besides: how most credentials of
// a mechanism look. A login of a user that does not exist looks like that.
type ScramShapes interface {
	TypicalScramShape(mechanism int8) ScramShape
}

// ScramFakes is what [ScramCredentials] may have besides: a secret of any length, the
// same after a restart, that the credentials of users are made from who do not exist.
// Without it their salts change with a restart, and those of users do not. Nil stands
// for none.
type ScramFakes interface {
	ScramFakeSecret() []byte
}

// MaxScramName is the longest name of a user, in bytes. What a client says first when it
// logs in has room for few more.
const MaxScramName = 4096

// MaxScramSalt is the longest salt of a credential, in bytes. Kafka's tools make 26.
const MaxScramSalt = 1024

// String hides the credential from whoever prints it.
func (ScramCredential) String() string { return "SCRAM credential" }

// GoString hides the credential from whoever prints it.
func (ScramCredential) GoString() string { return "SCRAM credential" }
