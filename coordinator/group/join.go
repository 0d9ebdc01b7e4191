package group

import (
	"time"

	"github.com/iggykafka/gateway/coordinator"
)

// CheckJoin refuses what no group would accept, in this order:
//
//	group id empty, or too long to be written back    INVALID_GROUP_ID
//	session timeout out of the configured range       INVALID_SESSION_TIMEOUT
//	a string too long to be written back, in members  INVALID_REQUEST
//	over max_protocols or max_member_bytes            INVALID_REQUEST
//
// It needs no group, so that none need be created for a bad request; a step with
// [Join] makes the same check.
func CheckJoin(cfg *coordinator.Config, r coordinator.JoinRequest) coordinator.Code {
	if r.Group == "" || len(r.Group) > maxString {
		return coordinator.InvalidGroupID
	}
	if r.SessionTimeout < cfg.MinSessionTimeout || r.SessionTimeout > cfg.MaxSessionTimeout {
		return coordinator.InvalidSessionTimeout
	}
	if len(r.ProtocolType) > maxString || len(r.MemberID) > maxString {
		return coordinator.InvalidRequest
	}
	size := 0
	if r.InstanceID != nil {
		size = len(*r.InstanceID)
		// A generated member id holds the whole instance id: cutting it would
		// make two instances look alike to whoever reads the list.
		if size > maxString || r.MemberID == "" && size+suffixLen > maxString {
			return coordinator.InvalidRequest
		}
	}
	for _, p := range r.Protocols {
		if len(p.Name) > maxString {
			return coordinator.InvalidRequest
		}
		size += len(p.Name) + len(p.Metadata)
	}
	if len(r.Protocols) > cfg.MaxProtocols || size > cfg.MaxMemberBytes {
		return coordinator.InvalidRequest
	}
	return coordinator.None
}

// apply is JoinGroup. The order of the checks is part of the contract, as a client
// acts on the one code that it gets. After [CheckJoin] and the tick:
//
//	absent group, member id given                        UNKNOWN_MEMBER_ID
//	newcomer over max_members, anyone over the roster    GROUP_MAX_SIZE_REACHED
//	over the totals                                      COORDINATOR_NOT_AVAILABLE
//	protocols that do not fit the group                  INCONSISTENT_GROUP_PROTOCOL
//	no member id, instance id of a member                replaces it (KIP-345)
//	no member id otherwise                               MEMBER_ID_REQUIRED, or admitted
//	pending member id, no instance id                    admitted
//	instance id of another member, of nobody             FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID
//	member id of nobody, of a member                     UNKNOWN_MEMBER_ID, or joins again
//
// A pending id together with an instance id is nobody's: ids are handed out to
// dynamic members alone. (Kafka answers it with UNKNOWN_SERVER_ERROR.)
func (e Join) apply(g *Group, now time.Time) {
	r := e.Request
	if code := CheckJoin(g.cfg, r); code != coordinator.None {
		g.refuse(e, code)
		return
	}
	g.tick(now)
	if g.Empty() {
		g.reset()             // the tick may just have ended a group of this name
		if r.MemberID != "" { // absent: nobody can be a member of it
			g.refuse(e, coordinator.UnknownMemberID)
			return
		}
	}
	// The caller is in the group already under its member id, or is about to
	// replace the member of its instance id, or is nobody yet.
	caller := g.find(r.MemberID)
	if r.MemberID == "" {
		caller = g.holder(r.InstanceID)
	}
	_, claims := g.pending[r.MemberID]
	if code := g.checkRoom(e, caller, claims); code != coordinator.None {
		g.refuse(e, code)
		return
	}
	if !g.compatible(r, caller) {
		g.refuse(e, coordinator.InconsistentGroupProtocol)
		return
	}
	switch {
	case r.MemberID == "" && caller != nil:
		g.replace(now, e, caller)
	case r.MemberID == "" && r.InstanceID == nil && r.RequireMemberID:
		g.handOut(now, e)
	case r.MemberID == "":
		g.admit(now, e, e.NewID)
	case claims && r.InstanceID == nil:
		g.claim(now, e)
	default:
		m, code := g.member(r.MemberID, r.InstanceID)
		if code != coordinator.None {
			g.refuse(e, code)
			return
		}
		g.rejoin(now, e, m)
	}
}

// refuse answers a Join at once, with the member id as it came.
func (g *Group) refuse(e Join, code coordinator.Code) {
	g.answerJoin(e.Call, coordinator.JoinResult{Code: code, MemberID: e.Request.MemberID})
}

// checkRoom holds the limits. The number of members is a matter for newcomers:
// a replacement and the owner of a pending id have their place. Bytes are a
// matter for whoever adds some, so that no member can grow without bound by
// joining again, but one that stays as it is always fits.
func (g *Group) checkRoom(e Join, caller *member, claims bool) coordinator.Code {
	r, id := e.Request, e.Request.MemberID
	newcomer := id == "" && caller == nil
	if !newcomer && caller == nil && !claims {
		return coordinator.None // a stranger, refused further on
	}
	if id == "" {
		id = e.NewID
	}
	instance := r.InstanceID
	if caller != nil {
		instance = caller.instance // a member keeps it, named or not
	}
	roster := rosterSize(id, instance, r.Protocols)
	grow := joinSize(id, instance, r.Protocols)
	switch {
	case caller != nil:
		roster -= rosterSize(caller.id, caller.instance, caller.protocols)
		grow -= joinSize(caller.id, caller.instance, caller.protocols)
	case newcomer && r.InstanceID == nil && r.RequireMemberID:
		grow = pendingSize(id)
	default:
		grow += g.identitySize(r)
	}
	if g.Empty() {
		grow += groupBytes + int64(len(g.id))
	}
	switch {
	case newcomer && len(g.members)+len(g.pending) >= g.cfg.MaxMembers,
		roster > 0 && g.roster+roster > g.cfg.MaxRosterBytes,
		grow > 0 && !g.holds(grow):
		return coordinator.GroupMaxSizeReached
	case newcomer && e.Room.Members < 1, grow > 0 && grow > e.Room.Bytes:
		return coordinator.CoordinatorNotAvailable
	}
	return coordinator.None
}

// identitySize is what keeping a newcomer's client identity takes.
func (g *Group) identitySize(r coordinator.JoinRequest) int64 {
	if g.cfg.RetainClientIdentity != coordinator.On {
		return 0
	}
	return int64(len(r.ClientID) + len(r.ClientHost))
}

// compatible checks the protocols against those of the other members. The type is
// the group's for as long as it has members ("consumer", "connect"): it says who
// can read the metadata.
func (g *Group) compatible(r coordinator.JoinRequest, caller *member) bool {
	if r.ProtocolType == "" || len(r.Protocols) == 0 {
		return false
	}
	if len(g.members) == 0 {
		return true
	}
	return r.ProtocolType == g.protocolType && g.agrees(r.Protocols, caller)
}
