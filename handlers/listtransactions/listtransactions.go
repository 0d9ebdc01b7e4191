// Package listtransactions answers ListTransactions (key 66), versions 0 to 2:
// the transactions that this node coordinates. There are none, so every list is
// empty.
//
// KIP-664 (v0), KIP-994 (v1: duration filter), KIP-1152 (v2: pattern).
package listtransactions

import (
	"context"
	"regexp/syntax"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// badRequest answers with INVALID_REQUEST, which every version has room for.
var badRequest = handler.InvalidRequest(func(r *kmsg.ListTransactionsResponse, code int16) { r.ErrorCode = code })

// states are the states that a transaction can have, in Kafka's words.
var states = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

const (
	// maxPattern is the longest pattern in bytes. Parsing a short one can take
	// much memory: \pL is a table of hundreds of ranges.
	maxPattern = 1024
	// patternMemory is what a byte of a pattern takes while it is parsed, at
	// worst, in bytes.
	patternMemory = 8 << 10
)

// New returns the handler.
func New() handler.Handler { return handler.New(0, 2, shape, badRequest, list) }

// list relies on the codec: filters that a version does not have are empty.
func list(ctx context.Context, call handler.Call, req *kmsg.ListTransactionsRequest) (*kmsg.ListTransactionsResponse, error) {
	resp := kmsg.NewPtrListTransactionsResponse()
	if p := req.TransactionalIDPattern; p != nil {
		if err := call.Reserve(ctx, int64(min(len(*p), maxPattern))*patternMemory); err != nil {
			return nil, err
		}
		if !isPattern(*p) {
			resp.ErrorCode = kerr.InvalidRegularExpression.Code
			return resp, nil
		}
	}
	resp.UnknownStateFilters = unknown(req.StateFilters)
	return resp, nil
}

// isPattern reports whether a pattern is one in RE2's syntax, as Kafka's is. It
// is never matched, so it is not compiled.
func isPattern(pattern string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil
}

// unknown returns the filters that no transaction can pass, each once.
func unknown(filters []string) []string {
	seen := make(map[string]bool)
	var found []string
	for _, state := range filters {
		if !seen[state] && !slices.Contains(states, state) {
			seen[state] = true
			found = append(found, state)
		}
	}
	return found
}
