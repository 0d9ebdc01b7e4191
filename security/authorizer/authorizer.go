// Package authorizer is the authorizer that the configuration names: of those in the
// list that builds the gateway it makes one and leaves the others alone.
//
// An authorizer stands in the list by an option that provides an [Out], its name and
// how it is made:
//
//	fx.Options(authorizer.Module, acls.Candidate)
//
// and another module adds its own in the same way. One that also implements
// security.ACLs is managed with the keys 29 to 31, by kafka-acls. Super users are
// asked for here, so no authorizer needs to know them.
package authorizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/choice"
)

// Candidate is an authorizer that authorization.authorizer may name.
type Candidate struct {
	Name string
	// Make makes it, once, if it is the chosen one. Only then may it have hooks in
	// the graph's lifecycle.
	Make func() (security.Authorizer, error)
}

var key = choice.Key[Candidate]{
	Name: "authorization.authorizer", Kind: "authorizers", NameOf: func(c Candidate) string { return c.Name }, Words: []string{None},
}

// choose returns the authorizer that the section names, without its super users; nil
// for None.
func choose(c Config, candidates []Candidate) (security.Authorizer, error) {
	chosen, ok, err := key.Of(c.Authorizer, candidates)
	if !ok {
		return nil, err
	}
	made, err := chosen.Make()
	if err == nil && made == nil {
		err = errors.New("nothing was made")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", key.Name, c.Authorizer, err)
	}
	return made, nil
}

// withSuperUsers lets users do everything before it asks an authorizer.
type withSuperUsers struct {
	users map[security.Principal]bool
	security.Authorizer
}

// Authorize implements security.Authorizer.
func (a withSuperUsers) Authorize(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on security.Resource) bool {
	return a.users[who.Principal] || a.Authorizer.Authorize(ctx, who, op, on)
}

// AuthorizeAny implements security.Authorizer.
func (a withSuperUsers) AuthorizeAny(ctx context.Context, who security.Requester, op kmsg.ACLOperation, on kmsg.ACLResourceType) bool {
	return a.users[who.Principal] || a.Authorizer.AuthorizeAny(ctx, who, op, on)
}
