// Package alterclientquotas answers AlterClientQuotas (key 49), versions 0 and 1: it
// sets and removes quotas of users, client ids and addresses.
//
// KIP-546, and KIP-612 for addresses. What entities and values may be is for the
// list of quotas to say.
package alterclientquotas

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// alterConfigs is what a caller must be allowed.
var alterConfigs = handler.Check{
	Operation: kmsg.ACLOperationAlterConfigs, Resource: kmsg.ACLResourceTypeCluster, Code: kerr.ClusterAuthorizationFailed.Code,
}

// New returns the handler. Without quotas, nil, it is hidden and refuses every
// change. A body that does not decode closes the connection: codes are per entity.
func New(quotas security.QuotaList) handler.Handler {
	return handler.New(0, 1, shape, handler.CloseConnection, alterer{quotas}.alter,
		handler.Authorizes(alterConfigs), handler.HiddenIf(quotas == nil))
}

type alterer struct{ quotas security.QuotaList }

type (
	request   = kmsg.AlterClientQuotasRequest
	response  = kmsg.AlterClientQuotasResponse
	asked     = kmsg.AlterClientQuotasRequestEntry
	entry     = kmsg.AlterClientQuotasResponseEntry
	component = kmsg.AlterClientQuotasResponseEntryEntity
)

func (a alterer) alter(ctx context.Context, call handler.Call, req *request) (*response, error) {
	if err := call.Reserve(ctx, cost(req)); err != nil {
		return nil, err
	}
	var refusal error
	if !call.AllowedCluster(ctx, kmsg.ACLOperationAlterConfigs) {
		refusal = security.Refuse(kerr.ClusterAuthorizationFailed, "%s", kerr.ClusterAuthorizationFailed.Description)
	} else if a.quotas == nil {
		refusal = security.Refuse(kerr.SecurityDisabled, "This gateway keeps no quotas.")
	}
	p := plan{at: make(map[string]int, len(req.Entries))}
	for i := range req.Entries {
		p.add(&req.Entries[i], refusal)
	}
	if len(p.changes) > 0 {
		errs := p.errors(ctx.Err()) // nothing is begun once the client has gone
		if ctx.Err() == nil {
			errs = a.quotas.AlterQuotas(ctx, p.changes, req.ValidateOnly)
		}
		for i, err := range errs {
			p.fail(p.of[i], err)
		}
	}
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	resp.Entries = p.entries
	return resp, nil
}

// plan is what becomes of each entity of a request.
type plan struct {
	at      map[string]int // the entry of an entity
	entries []entry
	changes []security.QuotaChange
	of      []int // the entry of a change
}

// add plans a change. Of an entity that is there twice the first change is made, and
// the answer is that of the second: that is what Kafka does. One that names a quota
// twice is not made.
func (p *plan) add(e *asked, refusal error) {
	change := security.QuotaChange{Entity: make(security.QuotaEntity, len(e.Entity)), Values: make(map[string]*float64, len(e.Ops))}
	for i := range e.Entity {
		change.Entity[e.Entity[i].Type] = e.Entity[i].Name
	}
	kinds := slices.Sorted(maps.Keys(change.Entity))
	name := nameOf(change.Entity, kinds)
	i, again := p.at[name]
	if !again {
		i = len(p.entries)
		p.at[name] = i
		p.entries = append(p.entries, entryOf(change.Entity, kinds))
	}
	for j := range e.Ops {
		op := &e.Ops[j]
		if _, twice := change.Values[op.Key]; twice {
			again = true
		}
		change.Values[op.Key] = nil
		if !op.Remove {
			change.Values[op.Key] = &op.Value
		}
	}
	switch {
	case refusal != nil:
		p.fail(i, refusal)
	case again:
		p.fail(i, security.Refuse(kerr.InvalidRequest, "Ignoring duplicate entity ClientQuotaEntity(entries=%s)", describe(change.Entity, kinds)))
	default:
		p.changes, p.of = append(p.changes, change), append(p.of, i)
	}
}

// fail sets the error of an entry, unless it has one. An error without a code of its
// own is a store's, whose text is not for clients.
func (p *plan) fail(i int, err error) {
	e := &p.entries[i]
	if err == nil || e.ErrorCode != 0 {
		return
	}
	if code, text, ok := security.Refused(err); ok {
		e.ErrorCode, e.ErrorMessage = code, &text
		return
	}
	e.ErrorCode = errcode.Topics(err)
}

// errors returns the same error for each change.
func (p *plan) errors(err error) []error {
	return slices.Repeat([]error{err}, len(p.changes))
}

func entryOf(e security.QuotaEntity, kinds []string) entry {
	answer := entry{Entity: make([]component, len(kinds))}
	for i, kind := range kinds {
		answer.Entity[i] = component{Type: kind, Name: e[kind]}
	}
	return answer
}

// nameOf makes one text of an entity, which no other has: types and names, each with
// its length.
func nameOf(e security.QuotaEntity, kinds []string) string {
	var b strings.Builder
	part := func(s string) {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	for _, kind := range kinds {
		part(kind)
		if name := e[kind]; name == nil {
			b.WriteByte('-')
		} else {
			b.WriteByte('+')
			part(*name)
		}
	}
	return b.String()
}

// describe writes an entity as Kafka's errors do.
func describe(e security.QuotaEntity, kinds []string) string {
	parts := make([]string, len(kinds))
	for i, kind := range kinds {
		name := "null"
		if e[kind] != nil {
			name = *e[kind]
		}
		parts[i] = kind + "=" + name
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Memory that a request is charged while it is worked on, and for its answer, in
// bytes beside names.
const (
	entryMemory = 1024 + int64(unsafe.Sizeof(security.QuotaChange{})+unsafe.Sizeof(entry{}))
	partMemory  = 256 // of a type and name, or of a quota: in a map, in the answer, and stored
)

// cost is what the request takes. A name is in the answer, in its message, in the key
// and in the text that is stored.
func cost(req *request) int64 {
	size := int64(len(req.Entries)) * entryMemory
	for i := range req.Entries {
		e := &req.Entries[i]
		size += int64(len(e.Entity)+len(e.Ops)) * partMemory
		for j := range e.Entity {
			size += 6 * int64(len(e.Entity[j].Type))
			if name := e.Entity[j].Name; name != nil {
				size += 6 * int64(len(*name))
			}
		}
		for j := range e.Ops {
			size += 4 * int64(len(e.Ops[j].Key))
		}
	}
	return size
}
