package outcome_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/standintest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// patience bounds what a loaded machine may take.
const patience = time.Minute

// change is something that is kept as entries of the backend.
type change struct {
	make  func(context.Context, *kadm.Client) error
	shown func(context.Context, *kadm.Client) (bool, error)
}

var name = "app"

var credential = change{
	make: func(ctx context.Context, c *kadm.Client) error {
		altered, err := c.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: name, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret"}})
		return errors.Join(err, altered.Error())
	},
	shown: func(ctx context.Context, c *kadm.Client) (bool, error) {
		users, err := c.DescribeUserSCRAMs(ctx)
		return len(users) > 0, err
	},
}

var acl = change{
	make: func(ctx context.Context, c *kadm.Client) error {
		made, err := c.CreateACLs(ctx, kadm.NewACLs().Topics("t").Deny("User:"+name).DenyHosts("*").Operations(kadm.OpRead))
		for _, one := range made {
			err = errors.Join(err, one.Err)
		}
		return err
	},
	shown: func(ctx context.Context, c *kadm.Client) (bool, error) {
		found, err := c.DescribeACLs(ctx, kadm.NewACLs().Topics("t").Deny("User:"+name).DenyHosts("*").Operations(kadm.OpRead))
		return err == nil && len(found[0].Described) > 0, err
	},
}

var quota = change{
	make: func(ctx context.Context, c *kadm.Client) error {
		altered, err := c.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
			Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}},
			Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1 << 20}},
		}})
		for _, one := range altered {
			err = errors.Join(err, one.Err)
		}
		return err
	},
	shown: func(ctx context.Context, c *kadm.Client) (bool, error) {
		found, err := c.DescribeClientQuotas(ctx, false, nil)
		return len(found) > 0, err
	},
}

// A change that timed out because Iggy did not answer, and that Iggy has stored all the
// same, is in force soon after Iggy answers, without a restart and without another
// change.
func TestTheTruthWins(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]change{"credential": credential, "ACL": acl, "quota": quota} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := iggytest.StandIn(t)
			addr := gatewaytest.Start(t, gatewaytest.Iggy(server.Address(), "kafka"), gatewaytest.Config(func(c *app.Config) {
				c.Authorization.Authorizer, c.Authorization.SuperUsers = "acls", []string{"User:ANONYMOUS"}
			}))
			client, err := kgo.NewClient(kgo.SeedBrokers(addr))
			require.NoError(t, err)
			t.Cleanup(client.Close)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			admin := kadm.NewClient(client)
			release := timedOut(ctx, t, server, admin, c)
			shown, err := c.shown(ctx, admin)
			require.NoError(t, err)
			require.False(t, shown, "nobody knows yet")
			release()
			require.Eventually(t, func() bool {
				shown, err := c.shown(ctx, admin)
				return err == nil && shown
			}, patience, 10*time.Millisecond)
		})
	}
}

// timedOut makes a change whose request to Iggy gets stuck on its way, until release.
// Where it had to wait behind something else that is stuck, such as a sign of life, it
// surely was not stored, which the client is told: then it is tried again.
func timedOut(ctx context.Context, t *testing.T, server *iggytest.Standin, admin *kadm.Client, c change) (release func()) {
	t.Helper()
	for {
		stuck := server.Inject(standintest.Fault{Code: wiretest.SendMessages, Stream: "kafka-gateway", Times: -1, Kind: standintest.SilentBefore})
		err := c.make(ctx, admin)
		require.Error(t, err)
		if errors.Is(err, kerr.RequestTimedOut) {
			return stuck.Release
		}
		require.NoError(t, ctx.Err(), err)
		stuck.Release()
	}
}
