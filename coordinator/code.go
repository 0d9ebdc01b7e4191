package coordinator

import (
	"errors"
	"fmt"
)

// ErrTooLarge: the answer would be larger than the caller allows.
var ErrTooLarge = errors.New("answer above the size limit")

// Code is a Kafka error code, 0 when all is well. It is a value of the group
// protocol, so it is kept here by number rather than as a Go error.
type Code int16

// The codes that a coordinator answers.
const (
	None                      Code = 0
	CoordinatorLoadInProgress Code = 14
	CoordinatorNotAvailable   Code = 15
	NotCoordinator            Code = 16
	IllegalGeneration         Code = 22
	InconsistentGroupProtocol Code = 23
	InvalidGroupID            Code = 24
	UnknownMemberID           Code = 25
	InvalidSessionTimeout     Code = 26
	RebalanceInProgress       Code = 27
	InvalidRequest            Code = 42
	NonEmptyGroup             Code = 68
	GroupIDNotFound           Code = 69
	MemberIDRequired          Code = 79
	GroupMaxSizeReached       Code = 81
	FencedInstanceID          Code = 82
)

var codeNames = map[Code]string{
	None: "NONE", CoordinatorLoadInProgress: "COORDINATOR_LOAD_IN_PROGRESS", NonEmptyGroup: "NON_EMPTY_GROUP",
	CoordinatorNotAvailable: "COORDINATOR_NOT_AVAILABLE", NotCoordinator: "NOT_COORDINATOR",
	IllegalGeneration: "ILLEGAL_GENERATION", InconsistentGroupProtocol: "INCONSISTENT_GROUP_PROTOCOL",
	InvalidGroupID: "INVALID_GROUP_ID", UnknownMemberID: "UNKNOWN_MEMBER_ID",
	InvalidSessionTimeout: "INVALID_SESSION_TIMEOUT", RebalanceInProgress: "REBALANCE_IN_PROGRESS",
	InvalidRequest: "INVALID_REQUEST", GroupIDNotFound: "GROUP_ID_NOT_FOUND", MemberIDRequired: "MEMBER_ID_REQUIRED",
	GroupMaxSizeReached: "GROUP_MAX_SIZE_REACHED", FencedInstanceID: "FENCED_INSTANCE_ID",
}

// String returns Kafka's name of the code.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return fmt.Sprintf("code %d", int16(c))
}
