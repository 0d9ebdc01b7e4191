package oauthbearer

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"go.uber.org/zap"
)

const (
	// maxSet is the largest key set, in bytes.
	maxSet = 1 << 20
	// maxKeys is how many keys a set may have: a token that names none is tried with
	// each.
	maxKeys = 100
	// fetchTimeout bounds one look at the key set.
	fetchTimeout = 10 * time.Second
	// leastInterval lies between two looks, so that tokens with keys that nobody has
	// cannot make the gateway ask without end.
	leastInterval = 10 * time.Second
)

// errKey: a token that names a key which is not in the set.
var errKey = fmt.Errorf("%w: the set has no such key", jwkset.ErrKeyNotFound)

// Keys is a set of keys that is read again and again. It is safe for concurrent use,
// and implements jwkset.Storage for readers.
type Keys struct {
	jwkset.Storage
	source  source
	place   string // of the set, as it is told
	refresh time.Duration
	log     *zap.Logger

	mu     sync.Mutex  // held while the set is read
	looked time.Time   // the last look
	broken error       // why what was read last is no set
	failed atomic.Bool // the last look did
	end    context.CancelFunc
	ended  chan struct{}
}

// source is where a set of keys is.
type source interface {
	// read returns the set if it may have changed, nil if it has not.
	read(ctx context.Context) ([]byte, error)
	// every is how often it is worth a look, at most.
	every() time.Duration
}

// NewKeys returns the keys that a configuration names; Start reads them.
func NewKeys(c Config, log *zap.Logger) *Keys {
	k := &Keys{Storage: jwkset.NewMemoryStorage(), refresh: c.JWKSRefresh, log: log.Named("oauthbearer")}
	if u, isURL := c.url(); isURL {
		k.source, k.place = newRemote(u), u.Redacted()
	} else {
		k.source, k.place = &file{path: c.JWKS}, c.JWKS
	}
	return k
}

// Start reads the keys and looks for new ones until Stop. A file that cannot be read
// is an error; of a server that does not answer now only the log is told.
func (k *Keys) Start(ctx context.Context) error {
	if err := k.look(ctx); err != nil {
		if _, isFile := k.source.(*file); isFile {
			return fmt.Errorf("sasl.oauthbearer.jwks: %w", err)
		}
		k.log.Warn("no keys yet: nobody can log in by OAUTHBEARER until they can be read, which is tried again and again",
			zap.Duration("every", leastInterval), zap.Error(err))
	}
	ctx, k.end = context.WithCancel(context.Background())
	k.ended = make(chan struct{})
	go k.watch(ctx)
	return nil
}

// Stop ends the looking.
func (k *Keys) Stop() {
	if k.end != nil {
		k.end()
		<-k.ended
	}
}

// watch looks at the set until ctx ends: a set that could not be read soon again.
func (k *Keys) watch(ctx context.Context) {
	defer close(k.ended)
	failing := k.failed.Load()
	for {
		pause := min(k.refresh, k.source.every())
		if failing || k.empty() {
			pause = leastInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := k.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			k.log.Warn("the keys could not be read again; those that are known stay in use", zap.Error(err))
		}
		if err == nil && failing {
			k.log.Info("the keys have been read")
		}
		failing = err != nil
	}
}

func (k *Keys) empty() bool {
	all, err := k.KeyReadAll(context.Background())
	return err != nil || len(all) == 0
}

// KeyRead returns a key by its id. One that is not known may be new.
func (k *Keys) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	if key, err := k.Storage.KeyRead(ctx, id); err == nil {
		return key, nil
	}
	if k.lookAgain(ctx) {
		if key, err := k.Storage.KeyRead(ctx, id); err == nil {
			return key, nil
		}
	}
	return jwkset.JWK{}, errKey
}

// lookAgain looks at the set unless somebody does so already, or did lately. It
// reports whether it did.
func (k *Keys) lookAgain(ctx context.Context) bool {
	if !k.mu.TryLock() {
		return false
	}
	defer k.mu.Unlock()
	if time.Since(k.looked) < leastInterval {
		return false
	}
	// Not the end of one client's connection ends the look that others profit from.
	return k.lookLocked(context.WithoutCancel(ctx)) == nil
}

func (k *Keys) look(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lookLocked(ctx)
}

// unsure reports whether a key that is not known may be good all the same, because the
// set could not be read.
func (k *Keys) unsure() bool { return k.failed.Load() || k.empty() }

func (k *Keys) lookLocked(ctx context.Context) (err error) {
	k.looked = time.Now()
	defer func() { k.failed.Store(err != nil) }()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	raw, err := k.source.read(ctx)
	switch {
	case err != nil:
		return err
	case raw == nil: // as before, and no better
		return k.broken
	}
	keys, err := parseSet(raw)
	if k.broken = nil; err != nil {
		k.broken = fmt.Errorf("%s %w", k.place, err)
		return k.broken
	}
	return k.KeyReplaceAll(ctx, keys)
}

// parseSet reads the keys of a set that tokens may be signed with. Others are left
// out: those of kinds that are not known, and secrets, which are no public keys. Errors say
// what is wrong with the place that the set is from.
func parseSet(raw []byte) ([]jwkset.JWK, error) {
	var set struct {
		jwkset.JWKSMarshal
		Elsewhere string `json:"jwks_uri"` // what an issuer's configuration (OpenID Connect Discovery) has instead
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, errors.New("holds no JSON Web Key Set (RFC 7517)")
	}
	if set.Keys == nil && set.Elsewhere != "" {
		return nil, errors.New("holds the configuration of an issuer; set sasl.oauthbearer.jwks to the jwks_uri in it")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("holds %d keys, and %d are the most that are read", len(set.Keys), maxKeys)
	}
	var keys []jwkset.JWK
	for _, one := range set.Keys {
		// Private parts are left out at once.
		key, err := jwkset.NewJWKFromMarshal(one, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil {
			continue
		}
		if _, secret := key.Key().([]byte); secret {
			continue
		}
		if _, private := key.Key().(crypto.Signer); private {
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("holds no public key that tokens could be verified with; secrets (kty oct) are not taken")
	}
	return keys, nil
}
