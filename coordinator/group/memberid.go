package group

import (
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/iggykafka/gateway/coordinator"
)

// maxString is the longest string that the protocol can carry: its length is an
// int16 in the versions that are not flexible (KIP-482).
const maxString = 1<<15 - 1

// suffixLen is what follows the prefix of a generated member id: a dash and a
// UUID.
const suffixLen = 37

// MemberID returns the id of a new member, `<prefix>-<uuid>`, for [Join.NewID].
// The prefix is the instance id if there is one, else the client id, cut so that
// the whole can be written back at every version. (An instance id is never cut:
// [CheckJoin] refuses one that is too long.)
func MemberID(r coordinator.JoinRequest, unique uuid.UUID) string {
	prefix := r.ClientID
	if r.InstanceID != nil {
		prefix = *r.InstanceID
	}
	return cut(prefix, maxString-suffixLen) + "-" + unique.String()
}

// cut shortens s to at most n bytes, at a character boundary.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
