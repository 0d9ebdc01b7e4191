package hostile

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/chacha20poly1305"
)

// The types of records, and the alerts that are sent here (RFC 8446, 5.1 and 6).
const (
	typeAlert     = 21
	typeHandshake = 22
	typeData      = 23

	warning, fatal = 1, 2
	closeNotify    = 0
	internalError  = 80
	userCanceled   = 90
)

// keyed is a client of TLS 1.3 that writes its records itself, so that it can send what crypto/tls never would. It
// reads as any client.
type keyed struct {
	*tls.Conn // for reading only
	socket    net.Conn
	hash      func() hash.Hash
	keySize   int
	newAEAD   func(key []byte) (cipher.AEAD, error)

	secret, iv []byte
	aead       cipher.AEAD
	sequence   uint64
}

// dialKeyed goes through a door that has TLS.
func dialKeyed(t *testing.T, d Door) *keyed {
	t.Helper()
	socket, err := net.Dial("tcp", d.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { socket.Close() })
	require.NoError(t, socket.SetDeadline(time.Now().Add(patience)))
	var log bytes.Buffer
	cfg := d.gate.TLS.Clone()
	cfg.KeyLogWriter, cfg.MinVersion = &log, tls.VersionTLS13
	k := &keyed{Conn: tls.Client(socket, cfg), socket: socket}
	require.NoError(t, k.Handshake())
	switch suite := k.ConnectionState().CipherSuite; suite {
	case tls.TLS_AES_128_GCM_SHA256:
		k.hash, k.keySize, k.newAEAD = sha256.New, 16, newGCM
	case tls.TLS_AES_256_GCM_SHA384:
		k.hash, k.keySize, k.newAEAD = sha512.New384, 32, newGCM
	case tls.TLS_CHACHA20_POLY1305_SHA256:
		k.hash, k.keySize, k.newAEAD = sha256.New, 32, chacha20poly1305.New
	default:
		require.Fail(t, "an unknown cipher suite", tls.CipherSuiteName(suite))
	}
	for line := range bytes.Lines(log.Bytes()) {
		if secret, is := bytes.CutPrefix(line, []byte("CLIENT_TRAFFIC_SECRET_0 ")); is {
			_, text, _ := bytes.Cut(bytes.TrimSpace(secret), []byte(" "))
			secret, err := hex.DecodeString(string(text))
			require.NoError(t, err)
			require.NoError(t, k.use(secret))
		}
	}
	require.NotNil(t, k.aead)
	if d.Login && d.In {
		require.NoError(t, d.gate.logIn(k))
	}
	return k
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// expand is HKDF-Expand-Label without a context (RFC 8446, 7.1).
func (k *keyed) expand(secret []byte, label string, size int) ([]byte, error) {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(append(info, byte(len(label))), label...)
	return hkdf.Expand(k.hash, secret, string(append(info, 0)), size)
}

// use has what follows written under the keys of a secret (7.3).
func (k *keyed) use(secret []byte) error {
	key, err := k.expand(secret, "key", k.keySize)
	if err != nil {
		return err
	}
	if k.aead, err = k.newAEAD(key); err != nil {
		return err
	}
	k.iv, err = k.expand(secret, "iv", k.aead.NonceSize())
	k.secret, k.sequence = secret, 0
	return err
}

// record returns a record whose inside is of a type, which no byte of zero says (5.2).
func (k *keyed) record(kind byte, content []byte) []byte {
	inside := content
	if kind != 0 {
		inside = append(bytes.Clone(content), kind)
	}
	size := len(inside) + k.aead.Overhead()
	out := []byte{typeData, 3, 3, byte(size >> 8), byte(size)}
	nonce := binary.BigEndian.AppendUint64(make([]byte, len(k.iv)-8), k.sequence)
	for i := range nonce {
		nonce[i] ^= k.iv[i]
	}
	k.sequence++
	return k.aead.Seal(out, nonce, inside, out)
}

// newKeys returns a record that announces new keys, and uses them from then on (4.6.3). The other side has to answer
// with its own if that is asked for.
func (k *keyed) newKeys(answered bool) []byte {
	message := []byte{24, 0, 0, 1, 0}
	if answered {
		message[4] = 1
	}
	out := k.record(typeHandshake, message)
	next, err := k.expand(k.secret, "traffic upd", k.hash().Size())
	if err == nil {
		err = k.use(next)
	}
	if err != nil {
		panic(fmt.Sprintf("new keys: %v", err)) // all sizes are those of the suite
	}
	return out
}

// data returns p in records of size bytes.
func (k *keyed) data(p []byte, size int) (out []byte) {
	for len(p) > 0 {
		n := min(size, len(p))
		out = append(out, k.record(typeData, p[:n])...)
		p = p[n:]
	}
	return out
}

// Write implements net.Conn.
func (k *keyed) Write(p []byte) (int, error) {
	if _, err := k.socket.Write(k.data(p, maxPlain)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// maxPlain is what a record holds at most.
const maxPlain = 16 << 10
