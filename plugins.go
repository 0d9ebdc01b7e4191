// Package gateway is the list of what a gateway is made of. It reads as a table
// of contents: to learn what serves a key, follow its line.
//
// The lists are functions, so nobody can change them for others. A program
// that wants another gateway composes its own from the same parts:
//
//	app.Main(gateway.Admin(), gateway.Core(), gateway.Handlers(), gateway.Backend(), mycoordinator.Module)
//
// adds a key or takes one over by a module of its own, which provides a
// handler.Out or a handler.Replacement:
//
//	app.Main(gateway.Plugins(), mykey.Module)
//
// or leaves keys out:
//
//	app.Main(gateway.Plugins(gateway.Without(kmsg.DeleteTopics)))
package gateway

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/admin/health"
	"github.com/iggykafka/gateway/admin/metrics"
	"github.com/iggykafka/gateway/admin/profiles"
	"github.com/iggykafka/gateway/coordinator"
	chosencoordinator "github.com/iggykafka/gateway/coordinator/chosen"
	"github.com/iggykafka/gateway/coordinator/durable"
	"github.com/iggykafka/gateway/coordinator/memory"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/core/telemetry"
	"github.com/iggykafka/gateway/core/tracing"
	"github.com/iggykafka/gateway/handlers/alterclientquotas"
	"github.com/iggykafka/gateway/handlers/alterconfigs"
	"github.com/iggykafka/gateway/handlers/alterpartitionassignments"
	"github.com/iggykafka/gateway/handlers/alterreplicalogdirs"
	"github.com/iggykafka/gateway/handlers/alteruserscramcredentials"
	"github.com/iggykafka/gateway/handlers/apiversions"
	"github.com/iggykafka/gateway/handlers/createacls"
	"github.com/iggykafka/gateway/handlers/createpartitions"
	"github.com/iggykafka/gateway/handlers/createtopics"
	"github.com/iggykafka/gateway/handlers/deleteacls"
	"github.com/iggykafka/gateway/handlers/deletegroups"
	"github.com/iggykafka/gateway/handlers/deleterecords"
	"github.com/iggykafka/gateway/handlers/deletetopics"
	"github.com/iggykafka/gateway/handlers/describeacls"
	"github.com/iggykafka/gateway/handlers/describeclientquotas"
	"github.com/iggykafka/gateway/handlers/describecluster"
	"github.com/iggykafka/gateway/handlers/describeconfigs"
	"github.com/iggykafka/gateway/handlers/describegroups"
	"github.com/iggykafka/gateway/handlers/describelogdirs"
	"github.com/iggykafka/gateway/handlers/describeproducers"
	"github.com/iggykafka/gateway/handlers/describequorum"
	"github.com/iggykafka/gateway/handlers/describetopicpartitions"
	"github.com/iggykafka/gateway/handlers/describetransactions"
	"github.com/iggykafka/gateway/handlers/describeuserscramcredentials"
	"github.com/iggykafka/gateway/handlers/electleaders"
	"github.com/iggykafka/gateway/handlers/fetch"
	"github.com/iggykafka/gateway/handlers/findcoordinator"
	"github.com/iggykafka/gateway/handlers/gettelemetrysubscriptions"
	"github.com/iggykafka/gateway/handlers/heartbeat"
	"github.com/iggykafka/gateway/handlers/incrementalalterconfigs"
	"github.com/iggykafka/gateway/handlers/initproducerid"
	"github.com/iggykafka/gateway/handlers/joingroup"
	"github.com/iggykafka/gateway/handlers/leavegroup"
	"github.com/iggykafka/gateway/handlers/listconfigresources"
	"github.com/iggykafka/gateway/handlers/listgroups"
	"github.com/iggykafka/gateway/handlers/listoffsets"
	"github.com/iggykafka/gateway/handlers/listpartitionreassignments"
	"github.com/iggykafka/gateway/handlers/listtransactions"
	"github.com/iggykafka/gateway/handlers/metadata"
	"github.com/iggykafka/gateway/handlers/offsetcommit"
	"github.com/iggykafka/gateway/handlers/offsetdelete"
	"github.com/iggykafka/gateway/handlers/offsetfetch"
	"github.com/iggykafka/gateway/handlers/offsetforleaderepoch"
	"github.com/iggykafka/gateway/handlers/produce"
	"github.com/iggykafka/gateway/handlers/pushtelemetry"
	"github.com/iggykafka/gateway/handlers/saslauthenticate"
	"github.com/iggykafka/gateway/handlers/saslhandshake"
	"github.com/iggykafka/gateway/handlers/syncgroup"
	"github.com/iggykafka/gateway/handlers/unregisterbroker"
	"github.com/iggykafka/gateway/handlers/updatefeatures"
	"github.com/iggykafka/gateway/security/acls"
	"github.com/iggykafka/gateway/security/audit"
	"github.com/iggykafka/gateway/security/authorizer"
	"github.com/iggykafka/gateway/security/iggypermissions"
	"github.com/iggykafka/gateway/security/iggyusers"
	"github.com/iggykafka/gateway/security/oauthbearer"
	"github.com/iggykafka/gateway/security/plain"
	"github.com/iggykafka/gateway/security/quotas"
	"github.com/iggykafka/gateway/security/scram"
	"github.com/iggykafka/gateway/security/ssl"
	"github.com/iggykafka/gateway/security/users"
)

// Plugins is the whole gateway.
func Plugins(opts ...Option) fx.Option {
	return fx.Options(Admin(), Core(), Handlers(opts...), Coordinator(), Backend())
}

// Admin is the listener for those who run the gateway, and what it serves. It
// comes first, so that it starts first and stops last, and health can be asked
// for in between.
func Admin() fx.Option {
	return fx.Options(
		admin.Module,
		metrics.Module,
		health.Module,
		profiles.Module,
		console.Module,
		tracing.Module,
	)
}

// Core takes requests in and answers out: listener, connections, the table of
// handlers.
func Core() fx.Option {
	return fx.Options(server.Module, dispatch.Module, telemetry.Module, Security())
}

// Security says who may connect, who they are and what they may do: protocols of
// listeners, mechanisms to log in, authorizers, quotas, the audit. Which of them
// are used is the configuration's choice; all may be missing.
func Security() fx.Option {
	return fx.Options(
		authorizer.Module, acls.Candidate, iggypermissions.Candidate,
		quotas.Module, quotas.StoredCandidate,
		ssl.Module, audit.Module,
		users.Module, scram.Module,
		sasl.Module,
		plain.Module, iggyusers.Candidate,
		oauthbearer.Module,
	)
}

// Handlers answers the API keys, one line each.
func Handlers(opts ...Option) fx.Option {
	return choose(opts,
		api{0, produce.Module},
		api{1, fetch.Module},
		api{2, listoffsets.Module},
		api{3, metadata.Module},
		api{8, offsetcommit.Module},
		api{9, offsetfetch.Module},
		api{10, findcoordinator.Module},
		api{11, joingroup.Module},
		api{12, heartbeat.Module},
		api{13, leavegroup.Module},
		api{14, syncgroup.Module},
		api{15, describegroups.Module},
		api{16, listgroups.Module},
		api{17, saslhandshake.Module},
		api{18, apiversions.Module},
		api{19, createtopics.Module},
		api{20, deletetopics.Module},
		api{21, deleterecords.Module},
		api{22, initproducerid.Module},
		api{23, offsetforleaderepoch.Module},
		api{29, describeacls.Module},
		api{30, createacls.Module},
		api{31, deleteacls.Module},
		api{32, describeconfigs.Module},
		api{33, alterconfigs.Module},
		api{34, alterreplicalogdirs.Module},
		api{35, describelogdirs.Module},
		api{36, saslauthenticate.Module},
		api{37, createpartitions.Module},
		api{42, deletegroups.Module},
		api{43, electleaders.Module},
		api{44, incrementalalterconfigs.Module},
		api{45, alterpartitionassignments.Module},
		api{46, listpartitionreassignments.Module},
		api{47, offsetdelete.Module},
		api{48, describeclientquotas.Module},
		api{49, alterclientquotas.Module},
		api{50, describeuserscramcredentials.Module},
		api{51, alteruserscramcredentials.Module},
		api{55, describequorum.Module},
		api{57, updatefeatures.Module},
		api{60, describecluster.Module},
		api{61, describeproducers.Module},
		api{64, unregisterbroker.Module},
		api{65, describetransactions.Module},
		api{66, listtransactions.Module},
		api{71, gettelemetrysubscriptions.Module},
		api{72, pushtelemetry.Module},
		api{74, listconfigresources.Module},
		api{75, describetopicpartitions.Module},
	)
}

// Coordinator keeps the consumer groups: the one of this list that
// groups.coordinator names. One that keeps what outlives the process asks for a
// coordinator.Ledger, which the backend is. A module that provides a
// coordinator.Coordinator, such as memory.Module, may stand in the place of this
// list; exactly one may be there.
func Coordinator() fx.Option {
	return fx.Options(chosencoordinator.Module, fx.Provide(ledger),
		memory.Candidate,
		durable.Candidate,
	)
}

// ledger is the backend, as coordinators see it.
func ledger(b backend.Backend) coordinator.Ledger { return b }

// Backend keeps topics, records and committed offsets where storage.backend
// says: in files, in memory, or in an Apache Iggy server. Another one is a module
// that provides a backend.Backend; exactly one may be in the list.
func Backend() fx.Option { return chosen.Module }

// Option changes the list of handlers.
type Option func(*choice)

// Without leaves API keys out: the gateway closes connections that use them,
// and does not advertise them, which is how clients know. Leaving out a key that
// is not in the list stops the start.
func Without(keys ...kmsg.Key) Option {
	return func(c *choice) { c.without = append(c.without, keys...) }
}

// api is one line of the list of handlers.
type api struct {
	key    kmsg.Key
	module fx.Option
}

// choice is what the options of a list say.
type choice struct{ without []kmsg.Key }

// choose returns the modules that the options leave.
func choose(opts []Option, apis ...api) fx.Option {
	var c choice
	for _, opt := range opts {
		opt(&c)
	}
	var modules []fx.Option
	for _, a := range apis {
		if !slices.Contains(c.without, a.key) {
			modules = append(modules, a.module)
		}
	}
	for _, key := range c.without {
		if !slices.ContainsFunc(apis, func(a api) bool { return a.key == key }) {
			modules = append(modules, fx.Error(fmt.Errorf(
				"gateway.Without(%d): the list has no handler for key %d (%s)", key, key, key.Name())))
		}
	}
	return fx.Options(modules...)
}
