package iggypermissions

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/acls"
)

// listFresh is how old a list of all permissions may be that is shown again. A request
// that deletes ACLs asks for it once for each of its filters.
const listFresh = time.Second

// listing is all permissions as ACLs, and when they were asked for.
type listing struct {
	acls []security.ACL
	read time.Time
}

// errReadOnly is the answer to who would change permissions.
var errReadOnly = security.Refuse(kerr.InvalidRequest,
	"What users may do is set in the Iggy server, by its own tools; here it can only be listed (authorization.authorizer is iggy).")

// CreateACLs implements security.ACLs: it refuses all.
func (a *Authorizer) CreateACLs(_ context.Context, list []security.ACL) []error {
	errs := make([]error, len(list))
	for i := range errs {
		errs[i] = errReadOnly
	}
	return errs
}

// DeleteACLs implements security.ACLs: it refuses all.
func (a *Authorizer) DeleteACLs(_ context.Context, filters []security.ACLFilter) []security.DeletedACLs {
	results := make([]security.DeletedACLs, len(filters))
	for i := range results {
		results[i].Err = errReadOnly
	}
	return results
}

// DescribeACLs implements security.ACLs: the permissions of all users that may log in,
// as ACLs that would allow the same. Permissions for a stream are shown by the topics
// that are there, unless all topics are in that stream.
func (a *Authorizer) DescribeACLs(ctx context.Context, filter security.ACLFilter) ([]security.ACL, error) {
	all, err := a.listed(ctx)
	if err != nil {
		return nil, err
	}
	var chosen []security.ACL
	for _, acl := range all {
		if acls.Chooses(filter, acl) {
			chosen = append(chosen, acl)
		}
	}
	return chosen, nil
}

// listed returns the list of a moment ago, or a new one.
func (a *Authorizer) listed(ctx context.Context) ([]security.ACL, error) {
	now := time.Now()
	a.mu.Lock()
	l := a.list
	a.mu.Unlock()
	if !l.read.IsZero() && now.Sub(l.read) < listFresh {
		return l.acls, ctx.Err()
	}
	all, err := a.listAll(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.list = listing{all, now}
	a.mu.Unlock()
	return all, nil
}

// listAll asks for all users. It ends with an error once there are too many entries.
func (a *Authorizer) listAll(ctx context.Context) ([]security.ACL, error) {
	at, err := a.places(ctx)
	if err != nil {
		return nil, err
	}
	names, err := a.server.UserNames(ctx)
	if err != nil {
		return nil, a.unlisted(err)
	}
	var all []security.ACL
	for _, name := range names {
		user, err := a.server.User(ctx, name)
		switch {
		case errors.Is(err, client.ErrNoUser):
			continue // it was deleted meanwhile
		case err != nil:
			return nil, a.unlisted(err)
		}
		all = append(all, a.aclsOf(security.User(name), newGrants(user, at), at)...)
		if len(all) > a.cfg.MaxACLs {
			return nil, security.Refuse(kerr.PolicyViolation, "The permissions are more than %d ACLs; authorization.max_acls bounds them.", a.cfg.MaxACLs)
		}
	}
	slices.SortFunc(all, acls.Compare)
	return all, nil
}

// unlisted is the error of a question that the server refused, or did not answer.
func (a *Authorizer) unlisted(err error) error {
	a.tell(err)
	if !answered(err) {
		return err
	}
	return security.Refuse(kerr.UnknownServerError, "The Iggy server does not tell the gateway what users may do.")
}

// aclsOf returns ACLs that allow what a user may do.
func (a *Authorizer) aclsOf(who security.Principal, g *grants, at iggy.Places) []security.ACL {
	if who == security.Anonymous {
		return nil // it may do nothing by that name
	}
	var list []security.ACL
	allow := func(kind kmsg.ACLResourceType, name string, op kmsg.ACLOperation) {
		list = append(list, security.ACL{
			Type: kind, Pattern: kmsg.ACLResourcePatternTypeLiteral, Name: name, Principal: who.String(), Host: "*",
			Operation: op, Permission: kmsg.ACLPermissionTypeAllow,
		})
	}
	everywhere := g.global
	if !a.server.Mapped() {
		for _, r := range g.streams { // there is one
			everywhere |= r
		}
	}
	operations(everywhere, 0, func(op kmsg.ACLOperation) { allow(kmsg.ACLResourceTypeTopic, "*", op) })
	for _, topic := range at.Topics {
		here := g.streams[a.server.StreamOf(topic)] | g.topics[topic]
		operations(here, everywhere, func(op kmsg.ACLOperation) { allow(kmsg.ACLResourceTypeTopic, topic, op) })
	}
	for kind, rules := range otherRules {
		name := "*"
		if kind == kmsg.ACLResourceTypeCluster {
			name = security.ClusterName
		}
		for _, rule := range rules {
			if rule.may(g) {
				allow(kind, name, rule.operation)
			}
		}
	}
	return list
}

// operations calls each for the operations on topics that rights let do and that others
// do not.
func operations(r, others rights, each func(kmsg.ACLOperation)) {
	for _, rule := range topicRules {
		if holds(r, rule.operation) && !holds(others, rule.operation) {
			each(rule.operation)
		}
	}
}
