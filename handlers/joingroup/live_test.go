package joingroup_test

import (
	"context"
	"fmt"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/coordinator/memory"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
	"github.com/iggykafka/gateway/handlers/describegroups"
	"github.com/iggykafka/gateway/handlers/heartbeat"
	"github.com/iggykafka/gateway/handlers/joingroup"
	"github.com/iggykafka/gateway/handlers/leavegroup"
	"github.com/iggykafka/gateway/handlers/listgroups"
	"github.com/iggykafka/gateway/handlers/syncgroup"
)

// TestLive runs the files of the folder "live": requests of all group keys,
// each by its own command, over the coordinator that a gateway runs. Their
// answers were compared with those of a Kafka 4.4 broker; what differs is said.
func TestLive(t *testing.T) {
	handlertest.Scenarios(t, "live", func(*testing.T) handlertest.Env {
		cfg := coordinator.DefaultConfig()
		cfg.InitialRebalanceDelay = 0
		var ids atomic.Int32
		groups := memory.New(cfg, memory.WithMemberIDs(func(r coordinator.JoinRequest) string {
			prefix := r.ClientID
			if r.InstanceID != nil {
				prefix = *r.InstanceID
			}
			return fmt.Sprintf("%s-%d", prefix, ids.Add(1))
		}))
		commands := map[string]func(*testing.T, *datadriven.TestData) string{}
		for name, h := range map[string]handler.Handler{
			"join": joingroup.New(groups), "sync": syncgroup.New(groups), "heartbeat": heartbeat.New(groups),
			"leave": leavegroup.New(groups), "describe": describegroups.New(groups), "list": listgroups.New(groups),
		} {
			commands[name] = func(t *testing.T, d *datadriven.TestData) string { return answer(t, d, h) }
		}
		return handlertest.Env{Handler: joingroup.New(groups), Commands: commands}
	})
}

// left out of the output: what is as empty as it always is.
var quiet = regexp.MustCompile(`(?m)^ *(ErrorMessage: null|AuthorizedOperations: -2147483648|ClientID: ""|ClientHost: ""|SkipAssignment: false)\n`)

func answer(t *testing.T, d *datadriven.TestData, h handler.Handler) string {
	var version int16
	d.ScanArgs(t, "version", &version)
	req := h.NewRequest()
	req.SetVersion(version)
	if err := handlertest.ParseRequest(d.Input, req); err != nil {
		d.Fatalf(t, "%v", err)
	}
	req.SetVersion(version)
	call := handler.Call{ClientID: "app", Host: "/10.0.0.7", MaxFrame: 1 << 20}
	return quiet.ReplaceAllString(handlertest.Answer(context.Background(), h, call, req), "")
}
