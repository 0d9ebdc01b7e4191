// Package alteruserscramcredentials answers AlterUserScramCredentials (key 51),
// version 0: it sets and deletes the credentials with which users log in by SCRAM.
//
// KIP-554. The client sends a salted password, of which what a server needs is
// made here; it is not kept.
package alteruserscramcredentials

import (
	"context"
	"unicode/utf8"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// alterCluster is what a caller must be allowed.
var alterCluster = handler.Check{
	Operation: kmsg.ACLOperationAlter, Resource: kmsg.ACLResourceTypeCluster, Code: kerr.ClusterAuthorizationFailed.Code,
}

// New returns the handler. Without users, nil, it is hidden and refuses every
// change. A body that does not decode closes the connection: codes are per user.
func New(users security.ScramCredentials) handler.Handler {
	return handler.New(0, 0, shape, handler.CloseConnection, alterer{users}.alter,
		handler.Authorizes(alterCluster), handler.HiddenIf(users == nil))
}

type alterer struct{ users security.ScramCredentials }

type (
	request   = kmsg.AlterUserSCRAMCredentialsRequest
	response  = kmsg.AlterUserSCRAMCredentialsResponse
	result    = kmsg.AlterUserSCRAMCredentialsResponseResult
	deletion  = kmsg.AlterUserSCRAMCredentialsRequestDeletion
	upsertion = kmsg.AlterUserSCRAMCredentialsRequestUpsertion
)

// changeMemory is what a change takes beside its name and salt while it is worked
// on, and in the answer, in bytes: keys, the text that is stored, the result.
const changeMemory = 1024 + int64(unsafe.Sizeof(security.ScramChange{})+unsafe.Sizeof(result{}))

func cost(req *request) int64 {
	size := int64(len(req.Deletions)+len(req.Upsertions)) * changeMemory
	for i := range req.Deletions {
		size += 3 * int64(len(req.Deletions[i].Name))
	}
	for i := range req.Upsertions {
		size += 3*int64(len(req.Upsertions[i].Name)) + 3*int64(len(req.Upsertions[i].Salt))
	}
	return size
}

func (a alterer) alter(ctx context.Context, call handler.Call, req *request) (*response, error) {
	if err := call.Reserve(ctx, cost(req)); err != nil {
		return nil, err
	}
	p := newPlan(a.users, len(req.Deletions)+len(req.Upsertions))
	if !call.AllowedCluster(ctx, kmsg.ACLOperationAlter) {
		p.refusal = fault(kerr.ClusterAuthorizationFailed, "Request needs ALTER permission.")
	} else if a.users == nil {
		p.refusal = fault(kerr.SecurityDisabled, "This gateway keeps no users.")
	}
	for i := range req.Deletions {
		p.delete(&req.Deletions[i])
	}
	for i := range req.Upsertions {
		p.upsert(&req.Upsertions[i])
	}
	if changes := p.changes(); len(changes) > 0 {
		err := ctx.Err() // nothing is begun once the client has gone
		if err == nil {
			err = a.users.AlterScramCredentials(ctx, changes)
		}
		p.fail(errcode.Refusal(err))
	}
	resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
	resp.Results = p.results
	return resp, nil
}

// Why a user is not changed, in Kafka's words where it has some.
var (
	emptyName     = fault(kerr.UnacceptableCredential, "Username must not be empty")
	oddName       = fault(kerr.UnacceptableCredential, "Username must be UTF-8")
	longName      = fault(kerr.UnacceptableCredential, "Username is too long")
	noMechanism   = fault(kerr.UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
	missing       = fault(kerr.ResourceNotFound, "Attempt to delete a user credential that does not exist")
	tooFew        = fault(kerr.UnacceptableCredential, "Too few iterations")
	tooMany       = fault(kerr.UnacceptableCredential, "Too many iterations")
	emptyPassword = fault(kerr.UnacceptableCredential, "Salted password must not be empty")
	longSalt      = fault(kerr.UnacceptableCredential, "Salt is too long")
	twice         = fault(kerr.DuplicateResource, "A user credential cannot be altered twice in the same request")
	fixed         = fault(kerr.PolicyViolation, "The user is in the users file of the gateway, and can be altered only there")
)

// refusal is a result without a user.
type refusal struct {
	code    int16
	message *string
}

func fault(code *kerr.Error, message string) *refusal { return &refusal{code.Code, &message} }

// plan is what becomes of each user of a request.
type plan struct {
	users   security.ScramCredentials
	refusal *refusal // of every change, if any
	at      map[string]int
	results []result
	planned []security.ScramChange // of each result, while its code is 0
}

func newPlan(users security.ScramCredentials, n int) *plan {
	return &plan{users: users, at: make(map[string]int, n)}
}

func (p *plan) delete(d *deletion) {
	p.add(d.Name, func() (security.ScramChange, *refusal) {
		change := security.ScramChange{User: d.Name, Mechanism: d.Mechanism}
		if why := p.checkUser(d.Name, d.Mechanism); why != nil {
			return change, why
		}
		if _, ok := p.users.ScramCredential(d.Name, d.Mechanism); !ok {
			return change, missing
		}
		return change, nil
	})
}

func (p *plan) upsert(u *upsertion) {
	p.add(u.Name, func() (security.ScramChange, *refusal) {
		change := security.ScramChange{User: u.Name, Mechanism: u.Mechanism}
		why := p.checkUser(u.Name, u.Mechanism)
		switch {
		case why != nil:
		case len(u.Name) > security.MaxScramName: // it may be deleted
			why = longName
		case u.Iterations < security.MinScramIterations:
			why = tooFew
		case u.Iterations > security.MaxScramIterations:
			why = tooMany
		case len(u.SaltedPassword) == 0:
			why = emptyPassword
		case len(u.Salt) > security.MaxScramSalt:
			why = longSalt
		default:
			c := security.NewScramCredential(u.Mechanism, u.SaltedPassword, u.Salt, u.Iterations)
			change.Credential = &c
		}
		return change, why
	})
}

// add plans a change. A user's first fault stays; a second change is a fault.
func (p *plan) add(user string, check func() (security.ScramChange, *refusal)) {
	i, again := p.at[user]
	switch {
	case again && p.results[i].ErrorCode != 0:
		return
	case !again:
		i = len(p.results)
		p.at[user] = i
		p.results = append(p.results, result{User: user})
		p.planned = append(p.planned, security.ScramChange{})
	}
	why := p.refusal
	switch {
	case again:
		why = twice
	case why == nil:
		p.planned[i], why = check()
	}
	if why != nil {
		p.results[i].ErrorCode, p.results[i].ErrorMessage = why.code, why.message
	}
}

func (p *plan) checkUser(name string, mechanism int8) *refusal {
	switch {
	case name == "":
		return emptyName
	case !utf8.ValidString(name):
		return oddName
	case security.ScramName(mechanism) == "":
		return noMechanism
	}
	for _, m := range security.ScramMechanisms {
		if c, ok := p.users.ScramCredential(name, m); ok && c.Fixed {
			return fixed
		}
	}
	return nil
}

// changes returns what is to be made of the users without a fault.
func (p *plan) changes() []security.ScramChange {
	var changes []security.ScramChange
	for i := range p.results {
		if p.results[i].ErrorCode == 0 {
			changes = append(changes, p.planned[i])
		}
	}
	return changes
}

// fail gives the code, if it is one, and the message to all users that were to be
// changed.
func (p *plan) fail(code int16, message *string) {
	if code == 0 {
		return
	}
	for i := range p.results {
		if p.results[i].ErrorCode == 0 {
			p.results[i].ErrorCode, p.results[i].ErrorMessage = code, message
		}
	}
}
