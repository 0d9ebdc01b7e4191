package faults

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/users"
)

// TestTrustOutlivesKills has an administrator make a user, ACLs and a quota, and change
// them again, with a kill before each look.
func TestTrustOutlivesKills(t *testing.T) {
	for _, victim := range victims() {
		t.Run(victim, func(t *testing.T) {
			eachServer(t, func(t *testing.T, iggy iggytest.Server) {
				s := startTrust(t, iggy, victim)
				s.kill()
				s.look(1 << 20)
				s.change()
				s.kill()
				s.looksChanged()
			})
		})
	}
}

// trust is a gateway that has its users, ACLs and quotas in Iggy.
type trust struct {
	*testing.T
	iggy    iggytest.Server
	gateway *process
	victim  string
	ctx     context.Context
}

const (
	allowed   = "allowed" // a topic that alice may write to
	forbidden = "forbidden"
	alice     = "alice"
)

func startTrust(t *testing.T, iggy iggytest.Server, victim string) *trust {
	salt := []byte("some salt of its own")
	salted, err := pbkdf2.Key(sha256.New, "admin-secret", salt, 4096, sha256.Size)
	require.NoError(t, err)
	line := users.FormatLine("admin", security.ScramSHA256, security.NewScramCredential(security.ScramSHA256, salted, salt, 4096))
	file := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	s := &trust{T: t, iggy: iggy, victim: victim, ctx: ctx, gateway: startGateway(t, iggy.Address(),
		"--protocol=SASL_PLAINTEXT", "--sasl.users_file", file, "--sasl.failure_delay=0s",
		"--authorization.authorizer=acls", "--authorization.super_users=User:admin")}
	admin := s.admin()
	_, err = admin.CreateTopics(ctx, 1, 1, nil, allowed, forbidden)
	require.NoError(t, err)
	s.password("first")
	made, err := admin.CreateACLs(ctx, s.acl())
	require.NoError(t, err)
	for _, acl := range made {
		require.NoError(t, acl.Err)
	}
	s.quota(1 << 20)
	s.look(1 << 20)
	return s
}

func (s *trust) as(user, password string) *kgo.Client {
	s.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(s.gateway.addr), kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()),
		kgo.DisableIdempotentWrite(), kgo.RetryTimeout(patience), kgo.RecordDeliveryTimeout(patience))
	require.NoError(s, err)
	s.Cleanup(c.Close)
	return c
}

func (s *trust) admin() *kadm.Client {
	s.Helper()
	return kadm.NewClient(s.as("admin", "admin-secret"))
}

func (s *trust) acl() *kadm.ACLBuilder {
	return kadm.NewACLs().Topics(allowed).Allow("User:" + alice).AllowHosts("*").Operations(kadm.OpWrite).ResourcePatternType(kadm.ACLPatternLiteral)
}

func (s *trust) password(password string) {
	s.Helper()
	altered, err := s.admin().AlterUserSCRAMs(s.ctx, nil, []kadm.UpsertSCRAM{
		{User: alice, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: password},
	})
	require.NoError(s, err)
	require.NoError(s, altered.Error())
}

var entity = func() kadm.ClientQuotaEntity {
	name := alice
	return kadm.ClientQuotaEntity{{Type: "user", Name: &name}}
}()

const rateKey = "producer_byte_rate"

// quota sets how much alice may produce, in bytes a second.
func (s *trust) quota(rate float64) {
	s.Helper()
	altered, err := s.admin().AlterClientQuotas(s.ctx, []kadm.AlterClientQuotaEntry{
		{Entity: entity, Ops: []kadm.AlterClientQuotaOp{{Key: rateKey, Value: rate}}},
	})
	require.NoError(s, err)
	require.NoError(s, altered[0].Err)
}

// kill ends what is to be killed, starts it again, and waits until the gateway serves.
func (s *trust) kill() {
	s.Helper()
	if s.victim != "iggy" {
		s.gateway.kill()
	}
	if s.victim != "gateway" {
		s.iggy.Kill()
		s.iggy.Start()
	}
	if s.victim != "iggy" {
		s.gateway.launch()
		s.gateway.await()
	}
	admin := s.admin()
	require.Eventually(s, func() bool {
		dirs, err := admin.DescribeAllLogDirs(s.ctx, nil)
		back := err == nil
		dirs.Each(func(dir kadm.DescribedLogDir) { back = back && dir.Err == nil })
		return back
	}, patience, 10*time.Millisecond, "the gateway is not connected to Iggy again")
}

// send logs in as alice, once, and writes a record.
func (s *trust) send(password, topic string) error {
	s.Helper()
	c := s.as(alice, password)
	if _, err := c.Request(s.ctx, kmsg.NewPtrApiVersionsRequest()); err != nil {
		return err // a producer would try for ever
	}
	return c.ProduceSync(s.ctx, &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
}

// look checks all that was made, by what it does and by what is shown.
func (s *trust) look(rate float64) {
	s.Helper()
	require.NoError(s, s.send("first", allowed))
	require.ErrorIs(s, s.send("first", forbidden), kerr.TopicAuthorizationFailed)
	require.ErrorIs(s, s.send("second", allowed), kerr.SaslAuthenticationFailed)
	found, err := s.admin().DescribeACLs(s.ctx, s.acl())
	require.NoError(s, err)
	require.Len(s, found[0].Described, 1)
	shown, err := s.admin().DescribeUserSCRAMs(s.ctx, alice)
	require.NoError(s, err)
	require.EqualValues(s, 4096, shown[alice].CredInfos[0].Iterations)
	require.Equal(s, rate, s.rate())
}

// rate is what alice may produce; 0 is as much as she likes.
func (s *trust) rate() float64 {
	s.Helper()
	quotas, err := s.admin().DescribeClientQuotas(s.ctx, true, []kadm.DescribeClientQuotaComponent{
		{Type: "user", MatchName: entity[0].Name, MatchType: kmsg.QuotasMatchTypeExact},
	})
	require.NoError(s, err)
	for _, q := range quotas {
		for _, value := range q.Values {
			if value.Key == rateKey {
				return value.Value
			}
		}
	}
	return 0
}

// change makes everything otherwise.
func (s *trust) change() {
	s.Helper()
	s.password("second")
	deleted, err := s.admin().DeleteACLs(s.ctx, s.acl())
	require.NoError(s, err)
	require.Len(s, deleted[0].Deleted, 1)
	s.quota(2 << 20)
}

// looksChanged checks that.
func (s *trust) looksChanged() {
	s.Helper()
	require.ErrorIs(s, s.send("first", allowed), kerr.SaslAuthenticationFailed)
	require.ErrorIs(s, s.send("second", allowed), kerr.TopicAuthorizationFailed)
	require.EqualValues(s, 2<<20, s.rate())
}
