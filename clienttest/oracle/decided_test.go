package oracle

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// decision is what an authorizer has said to a request of a key.
type decision struct {
	key       int16
	operation kmsg.ACLOperation
	on        kmsg.ACLResourceType
	allowed   bool
}

// decided are the decisions about the user.
type decided struct {
	handlers []handler.Handler
	key      atomic.Int32 // of the request in work: one at a time
	mu       sync.Mutex
	all      map[decision]bool
}

func newDecided() *decided { return &decided{all: map[decision]bool{}} }

// keep keeps a decision, and returns it.
func (d *decided) keep(op kmsg.ACLOperation, on kmsg.ACLResourceType, allowed bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[decision{int16(d.key.Load()), op, on, allowed}] = true
	return allowed
}

// reportMissing tells of checks that handlers declare and that were not compared with
// Kafka both when they are passed and when they are not.
func (d *decided) reportMissing(t *testing.T) {
	for _, h := range d.handlers {
		spec := h.Spec()
		switch kmsg.Key(spec.Key) {
		case kmsg.DescribeACLs, kmsg.CreateACLs, kmsg.DeleteACLs: // see TestACLsOfAUserAgainstKafka
			continue
		}
		for _, c := range spec.Checks {
			if c.Operation == kmsg.ACLOperationAny {
				continue // see TestDecisionsAgainstKafka
			}
			for _, allowed := range []bool{true, false} {
				if !d.all[decision{spec.Key, c.Operation, c.Resource, allowed}] {
					t.Errorf("%s is never asked for with %s on %s allowed: %v", kmsg.NameForKey(spec.Key), c.Operation, c.Resource, allowed)
				}
			}
		}
	}
}
