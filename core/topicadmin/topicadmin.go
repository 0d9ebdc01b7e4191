// Package topicadmin holds what the handlers that manage topics have in common:
// faults, checks of manual assignments and of rights, and changes of configs. It knows
// nothing of response layouts; each handler puts a [Fault] where its key has
// room for it.
//
// # Errors
//
// Nothing here closes a connection: whatever goes wrong is a Fault, a Kafka
// error code with a message in Kafka's words. The zero Fault is success.
package topicadmin

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/errcode"
	"github.com/iggykafka/gateway/core/security"
)

// Fault is the outcome for one topic or resource of a request.
type Fault struct {
	Code int16
	// Message is nil where Kafka sends none.
	Message *string
}

// OK reports whether there is no fault.
func (f Fault) OK() bool { return f.Code == 0 }

// Refuse returns a fault with a message, which [security.Text] bounds.
func Refuse(k *kerr.Error, format string, args ...any) Fault {
	message := security.Text(format, args...)
	return Fault{Code: k.Code, Message: &message}
}

// Faults with a fixed text.
var (
	DuplicateName = Refuse(kerr.InvalidRequest, "Duplicate topic name.")
	// TimedOut is the answer to a timeout_ms of zero or less: nothing was done.
	TimedOut = Fault{Code: kerr.RequestTimedOut.Code}
	// OverQuota is the answer to a caller whose controller_mutation_rate does not allow
	// the change now (KIP-599). Kafka sends no text.
	OverQuota = Fault{Code: kerr.ThrottlingQuotaExceeded.Code}
)

// Failed returns the fault for an error of the backend about topics or configs;
// the zero Fault for nil. The text of an error that nobody foresaw stays here.
func Failed(err error) Fault {
	code := errcode.Topics(err)
	var refused *backend.ConfigError
	switch {
	case err == nil:
		return Fault{}
	case errors.As(err, &refused):
		return Refuse(kerr.InvalidConfig, "%v", refused)
	case errors.Is(err, backend.ErrTooManyTopics):
		return Refuse(kerr.PolicyViolation, "%v", backend.ErrTooManyTopics)
	}
	return Fault{Code: code}
}

// Expired returns a fault once ctx has ended: a request whose time is up, or
// whose client went away, begins nothing more.
func Expired(ctx context.Context) Fault { return Failed(ctx.Err()) }

// Repeated returns the keys that occur more than once.
func Repeated[K comparable](keys iter.Seq[K]) map[K]bool {
	seen := map[K]bool{}
	for k := range keys {
		if _, again := seen[k]; again {
			seen[k] = true
		} else {
			seen[k] = false
		}
	}
	for k, again := range seen {
		if !again {
			delete(seen, k)
		}
	}
	return seen
}

// CheckReplicas checks one replica list of a manual assignment. There is one
// broker, so the list must be just that one (INVALID_REPLICA_ASSIGNMENT, 39).
func CheckReplicas(node int32, replicas []int32) Fault {
	if len(replicas) == 0 {
		return Refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	// In Kafka's order: the lowest faulty broker is named, one that is not there
	// before one that is there twice.
	for i, sorted := 0, slices.Sorted(slices.Values(replicas)); i < len(sorted); i++ {
		switch r := sorted[i]; {
		case r != node:
			return Refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", r)
		case i > 0: // so is the one before
			return Refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", r)
		}
	}
	return Fault{}
}

// entryCost is the memory in bytes that the answer about one topic or resource
// takes beyond its name: the Go value, a message, and both encoded.
const entryCost = 512

// Cost returns the memory that the answer about the given names takes, for
// [handler.Call.Reserve]. A name can return twice: by itself and in a message.
func Cost(names iter.Seq[string]) int64 {
	cost := int64(0)
	for name := range names {
		cost += entryCost + 4*int64(len(name))
	}
	return cost
}
