// Package describeuserscramcredentials answers DescribeUserScramCredentials (key
// 50), version 0: which users may log in by SCRAM, and with which mechanisms.
//
// KIP-554.
package describeuserscramcredentials

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/security"
)

// badRequest answers with INVALID_REQUEST at the top level.
var badRequest = handler.InvalidRequest(func(r *kmsg.DescribeUserSCRAMCredentialsResponse, code int16) { r.ErrorCode = code })

// describeCluster is what a caller must be allowed.
var describeCluster = handler.Check{
	Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeCluster, Code: kerr.ClusterAuthorizationFailed.Code,
}

// New returns the handler. Without users, nil, it is hidden and shows none.
func New(users security.ScramCredentials) handler.Handler {
	return handler.New(0, 0, shape, badRequest, describer{users}.describe,
		handler.Authorizes(describeCluster), handler.HiddenIf(users == nil))
}

type describer struct{ users security.ScramCredentials }

type (
	request  = kmsg.DescribeUserSCRAMCredentialsRequest
	response = kmsg.DescribeUserSCRAMCredentialsResponse
	result   = kmsg.DescribeUserSCRAMCredentialsResponseResult
	info     = kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo
)

// none stands for a text that is there and empty, which Kafka sends with success.
var none = new(string)

func (d describer) describe(ctx context.Context, call handler.Call, req *request) (*response, error) {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	if err := call.Reserve(ctx, int64(len(req.Users))*userMemory); err != nil {
		return nil, err
	}
	if !call.AllowedCluster(ctx, kmsg.ACLOperationDescribe) {
		return d.denied(resp, req), nil
	}
	users, err := d.chosen(ctx, req)
	if err != nil {
		resp.ErrorCode = kerr.UnknownServerError.Code
		return resp, nil
	}
	size := price(users)
	if size > int64(call.MaxFrame) {
		return nil, fmt.Errorf("DescribeUserScramCredentials answer of %d bytes is above max_frame_size %d", size, call.MaxFrame)
	}
	if err := call.Reserve(ctx, size+int64(len(users))*userMemory); err != nil {
		return nil, err
	}
	resp.ErrorMessage = none
	resp.Results = make([]result, len(users))
	for i, u := range users {
		resp.Results[i] = u.result()
	}
	return resp, nil
}

// denied answers as Kafka does, with a nameless result for each user of the request.
func (d describer) denied(resp *response, req *request) *response {
	resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
	resp.Results = make([]result, len(req.Users))
	for i := range resp.Results {
		resp.Results[i].ErrorCode = resp.ErrorCode
	}
	return resp
}

// chosen returns the users to answer: those of the request once each, or all.
func (d describer) chosen(ctx context.Context, req *request) ([]user, error) {
	if len(req.Users) == 0 {
		return d.all(ctx)
	}
	var chosen []user
	at := make(map[string]int, len(req.Users))
	for _, asked := range req.Users {
		if i, again := at[asked.Name]; again {
			chosen[i] = user{name: asked.Name, fault: twice}
			continue
		}
		at[asked.Name] = len(chosen)
		chosen = append(chosen, d.look(asked.Name))
	}
	return chosen, nil
}

func (d describer) all(ctx context.Context) ([]user, error) {
	if d.users == nil {
		return nil, nil
	}
	known, err := d.users.ScramUsers(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]user, len(known))
	for i, k := range known {
		all[i].name = k.Name
		for _, mechanism := range slices.Sorted(maps.Keys(k.Iterations)) {
			all[i].infos = append(all[i].infos, info{Mechanism: mechanism, Iterations: k.Iterations[mechanism]})
		}
	}
	return all, nil
}

// look finds one user.
func (d describer) look(name string) user {
	u := user{name: name}
	for _, mechanism := range security.ScramMechanisms {
		if d.users == nil {
			break
		}
		if c, ok := d.users.ScramCredential(name, mechanism); ok {
			u.infos = append(u.infos, info{Mechanism: mechanism, Iterations: c.Iterations})
		}
	}
	if len(u.infos) == 0 {
		u.fault = missing
	}
	return u
}

// fault is why a user is not described: a code, and a message that ends with the
// user's name.
type fault struct {
	code    int16
	message string
}

var (
	missing = &fault{kerr.ResourceNotFound.Code, "Attempt to describe a user credential that does not exist: "}
	twice   = &fault{kerr.DuplicateResource.Code, "Cannot describe SCRAM credentials for the same user twice in a single request: "}
)

// user is one result.
type user struct {
	name  string
	infos []info
	fault *fault
}

func (u user) result() result {
	r := result{User: u.name, ErrorMessage: none, CredentialInfos: u.infos}
	if u.fault != nil {
		message := u.fault.message + u.name
		r.ErrorCode, r.ErrorMessage = u.fault.code, &message
	}
	return r
}

// userMemory is what a user takes in memory beside its bytes on the wire: the list
// of all users or the map of those asked for, the user, and its result.
const userMemory = int64(unsafe.Sizeof(security.ScramUser{})+unsafe.Sizeof(user{})+unsafe.Sizeof(result{})) + 2*int64(unsafe.Sizeof(info{})) + 128

// price is the size of the answer as its encoder will write it, header included and
// the frame's length prefix not.
func price(users []user) int64 {
	layout := encoded.Flexible
	size := layout.Header() + 4 + 2 + layout.String(0) + layout.Array(len(users)) + layout.Tags()
	for _, u := range users {
		message := 0
		if u.fault != nil {
			message = len(u.fault.message) + len(u.name)
		}
		size += layout.String(len(u.name)) + 2 + layout.String(message) +
			layout.Array(len(u.infos)) + int64(len(u.infos))*(1+4+layout.Tags()) + layout.Tags()
	}
	return size
}
