package acls

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// Names that stand for everything.
const (
	anyName = "*"
	anyHost = "*"
)

// everybody is the principal of ACLs that are about all principals.
var everybody = security.User("*")

// pattern is the ACLs of one pattern of resources.
type pattern struct {
	name     string
	prefixed bool
	rules    map[security.Principal]*rules
	// shorter is the longest other prefix that begins this one, of prefixed
	// patterns.
	shorter *pattern
}

// of returns what the pattern's ACLs say of a client.
func (p *pattern) of(c *client) sets {
	return p.rules[c.principal].of(c).and(p.rules[everybody].of(c))
}

// resources is the patterns of one type of resources.
type resources struct {
	literal  map[string]*pattern
	prefixed []*pattern // by name
	// about is the patterns with ACLs that are about a principal.
	about map[security.Principal][]*pattern
}

// index answers questions about a fixed list of ACLs.
type index struct {
	types [kmsg.ACLResourceTypeUser + 1]resources
}

// newIndex makes an index of ACLs, of which no two are the same.
func newIndex(acls []security.ACL) *index {
	ix := &index{}
	for i := range ix.types {
		ix.types[i] = resources{literal: map[string]*pattern{}, about: map[security.Principal][]*pattern{}}
	}
	prefixes := [len(ix.types)]map[string]*pattern{}
	for _, acl := range acls {
		r := &ix.types[acl.Type]
		names := r.literal
		prefixed := acl.Pattern == kmsg.ACLResourcePatternTypePrefixed
		if prefixed {
			if prefixes[acl.Type] == nil {
				prefixes[acl.Type] = map[string]*pattern{}
			}
			names = prefixes[acl.Type]
		}
		p := names[acl.Name]
		if p == nil {
			p = &pattern{name: acl.Name, prefixed: prefixed, rules: make(map[security.Principal]*rules, 1)}
			names[acl.Name] = p
		}
		who := principalOf(acl)
		if p.rules[who] == nil {
			p.rules[who] = &rules{}
			r.about[who] = append(r.about[who], p)
		}
		p.rules[who].add(acl)
	}
	for i, names := range prefixes {
		ix.types[i].link(names)
	}
	return ix
}

// link sorts the prefixed patterns and ties each to the next shorter one.
func (r *resources) link(names map[string]*pattern) {
	for _, p := range names {
		r.prefixed = append(r.prefixed, p)
	}
	slices.SortFunc(r.prefixed, func(a, b *pattern) int { return cmp.Compare(a.name, b.name) })
	for i, p := range r.prefixed {
		if i > 0 {
			p.shorter = beginning(r.prefixed[i-1], p.name)
		}
	}
}

// beginning returns the longest of p and its shorter ones that a name begins with.
func beginning(p *pattern, name string) *pattern {
	for p != nil && !strings.HasPrefix(name, p.name) {
		p = p.shorter
	}
	return p
}

// prefix returns the longest prefixed pattern that concerns a name; the others are
// its shorter ones. The last pattern that does not sort behind the name is the one,
// or has it among its shorter ones: what sorts between a prefix and the name begins
// with the prefix, too.
func (r *resources) prefix(name string) *pattern {
	i, found := slices.BinarySearchFunc(r.prefixed, name, func(p *pattern, name string) int { return cmp.Compare(p.name, name) })
	switch {
	case found:
		return r.prefixed[i]
	case i == 0:
		return nil
	}
	return beginning(r.prefixed[i-1], name)
}

// authorize decides; ifNone is the answer where no ACL concerns the resource.
func (ix *index) authorize(c *client, op kmsg.ACLOperation, on security.Resource, ifNone bool) bool {
	if on.Type < 0 || int(on.Type) >= len(ix.types) {
		return ifNone
	}
	r := &ix.types[on.Type]
	var said sets
	concerned := false
	if p := r.literal[on.Name]; p != nil {
		said, concerned = said.and(p.of(c)), true
	}
	if p := r.literal[anyName]; p != nil {
		said, concerned = said.and(p.of(c)), true
	}
	for p := r.prefix(on.Name); p != nil; p = p.shorter {
		said, concerned = said.and(p.of(c)), true
	}
	if !concerned {
		return ifNone
	}
	asked := only(op)
	return said.denied&asked == 0 && said.allowed&asked != 0
}

// probe is the name that AuthorizeAny asks about first, as Kafka does.
const probe = "hardcode"

// authorizeAny decides whether there is a name for which the answer could be yes. It
// follows Kafka's Authorizer.authorizeByResourceType: first one name stands for those
// that only patterns for all names concern, and after that operations count by name,
// not by what they imply.
func (ix *index) authorizeAny(c *client, op kmsg.ACLOperation, on kmsg.ACLResourceType, ifNone bool) bool {
	if ix.authorize(c, op, security.Resource{Type: on, Name: probe}, ifNone) {
		return true
	}
	if on < 0 || int(on) >= len(ix.types) {
		return false
	}
	r, asked := &ix.types[on], only(op)
	if p := r.literal[anyName]; p != nil {
		switch said := p.of(c); {
		case said.denied&asked != 0:
			return false
		case said.named&asked != 0:
			return true
		}
	}
	open := func(p *pattern) bool {
		return p.of(c).named&asked != 0 && !r.dominated(c, asked, p)
	}
	return slices.ContainsFunc(r.about[c.principal], open) || slices.ContainsFunc(r.about[everybody], open)
}

// dominated reports whether everything that a pattern concerns is denied by a
// pattern that concerns as much or more.
func (r *resources) dominated(c *client, asked set, p *pattern) bool {
	if !p.prefixed && p.of(c).denied&asked != 0 {
		return true
	}
	for wider := r.prefix(p.name); wider != nil; wider = wider.shorter {
		if wider.of(c).denied&asked != 0 {
			return true
		}
	}
	return false
}
