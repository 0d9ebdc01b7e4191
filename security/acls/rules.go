package acls

import (
	"net/netip"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// set is a set of operations: bit n for the operation with the number n.
type set uint32

// all is every operation, those included that this package does not know.
const all = ^set(0)

func only(op kmsg.ACLOperation) set {
	if op < 0 {
		return 0
	}
	return 1 << op
}

// implied returns what an ACL that allows an operation allows.
func implied(op kmsg.ACLOperation) set {
	switch op {
	case kmsg.ACLOperationAll:
		return all
	case kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDelete, kmsg.ACLOperationAlter:
		return only(op) | only(kmsg.ACLOperationDescribe)
	case kmsg.ACLOperationAlterConfigs:
		return only(op) | only(kmsg.ACLOperationDescribeConfigs)
	}
	return only(op)
}

// sets is what ACLs say together.
type sets struct {
	allowed set // with what is implied
	named   set // allowed by name, or by ALL
	denied  set
}

func (s *sets) add(acl security.ACL) {
	named := only(acl.Operation)
	if acl.Operation == kmsg.ACLOperationAll {
		named = all
	}
	if acl.Permission == kmsg.ACLPermissionTypeDeny {
		s.denied |= named
		return
	}
	s.allowed |= implied(acl.Operation)
	s.named |= named
}

func (s sets) and(other sets) sets {
	return sets{s.allowed | other.allowed, s.named | other.named, s.denied | other.denied}
}

// rules is what the ACLs of one pattern say of one principal.
type rules struct {
	anywhere sets
	from     []hostSets
}

type hostSets struct {
	host
	sets
}

func (r *rules) add(acl security.ACL) {
	if acl.Host == anyHost {
		r.anywhere.add(acl)
		return
	}
	for i := range r.from {
		if r.from[i].text == acl.Host {
			r.from[i].add(acl)
			return
		}
	}
	h := hostSets{host: newHost(acl.Host)}
	h.add(acl)
	r.from = append(r.from, h)
}

// of returns what the rules say of a client at an address. A nil r says nothing.
func (r *rules) of(from *client) sets {
	if r == nil {
		return sets{}
	}
	s := r.anywhere
	for i := range r.from {
		if h := &r.from[i]; h.matches(from.host, from.parsed()) {
			s = s.and(h.sets)
		}
	}
	return s
}

// client is a requester whose address is parsed when the first ACL asks for it.
type client struct {
	principal security.Principal
	host      string
	address   netip.Addr
	tried     bool
}

func (c *client) parsed() netip.Addr {
	if !c.tried {
		c.tried = true
		if a, err := netip.ParseAddr(c.host); err == nil {
			c.address = a.Unmap().WithZone("")
		}
	}
	return c.address
}
