// Package proven remembers which passwords were right, for those who would have to pay
// dearly to find it out again: a login at another server, or thousands of rounds of a hash.
//
// What is remembered of a password is its HMAC under a key that this process made and
// nobody else has, compared in constant time. A slow hash, as for passwords on a disk, would
// cost on each login what the memory is there to save, and protect from little: whoever can
// read the memory of the process can read passwords as they come in. Nothing is remembered
// of passwords that were wrong.
package proven

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Mark stands for a user and a password. It is of no use in another process.
type Mark [sha256.Size]byte

// Passwords are those that were right: one for each user, with what its owner wants to
// know of it. It is safe for concurrent use.
type Passwords[T any] struct {
	key [sha256.Size]byte

	mu    sync.Mutex
	known *simplelru.LRU[string, proof[T]]
}

type proof[T any] struct {
	mark Mark
	with T
}

// New remembers the passwords of at most so many users, some 200 bytes each and the
// name. Of more the one that was asked for least lately is forgotten.
func New[T any](users int) *Passwords[T] {
	known, err := simplelru.NewLRU[string, proof[T]](users, nil)
	if err != nil {
		panic(err) // the size is not above zero
	}
	p := &Passwords[T]{known: known}
	_, _ = rand.Read(p.key[:]) // it never fails
	return p
}

// Mark returns what stands for a user's password.
func (p *Passwords[T]) Mark(user, password string) (m Mark) {
	h := hmac.New(sha256.New, p.key[:])
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(user)))) // #nosec G115 -- a name out of a token of bounded size
	h.Write([]byte(user))
	h.Write([]byte(password))
	return Mark(h.Sum(nil))
}

// Right returns what was remembered with a user's password; ok is false for another
// password, and for one that is not known.
func (p *Passwords[T]) Right(user string, m Mark) (with T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known.Get(user)
	if !ok || !hmac.Equal(known.mark[:], m[:]) {
		return with, false
	}
	return known.with, true
}

// Remember takes a password for right from now on, in place of the user's last one.
func (p *Passwords[T]) Remember(user string, m Mark, with T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.Add(user, proof[T]{m, with})
}

// Forget forgets a user's password if it is this one.
func (p *Passwords[T]) Forget(user string, m Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known.Peek(user); ok && hmac.Equal(known.mark[:], m[:]) {
		p.known.Remove(user)
	}
}

// ForgetUser forgets a user's password, whatever it is.
func (p *Passwords[T]) ForgetUser(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.Remove(user)
}
