package doctor_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app/doctor"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
)

// denying lets nobody do anything, and counts how often the cluster was asked for.
type denying struct{ cluster atomic.Int32 }

func (d *denying) Authorize(_ context.Context, _ security.Requester, _ kmsg.ACLOperation, on security.Resource) bool {
	if on == security.Cluster {
		d.cluster.Add(1)
	}
	return false
}

func (d *denying) AuthorizeAny(context.Context, security.Requester, kmsg.ACLOperation, kmsg.ACLResourceType) bool {
	return false
}

// Who may not see the disks is told which right that takes. Where it is known beforehand
// that nobody logs in, the gateway is not asked, as it would write that into its audit.
func TestDisksThatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	authorizer := &denying{}
	addr := gatewaytest.Start(t, gatewaytest.Authorizer(authorizer))
	local := doctor.Setup{Local: true, Authorizer: true, Storage: "embedded", Sync: true,
		Listeners: []doctor.Listener{{Key: "listen", Listen: addr, Protocol: "PLAINTEXT"}}}
	want := doctor.Finding{
		Check: "disk", Status: doctor.Note, Text: "how full the disks are is told to users who may DESCRIBE the cluster, and not to this one",
		Remedy: "log in as one who may (kafka-acls --add --cluster --operation Describe), by the flags that doctor --help tells",
	}
	require.Equal(t, want, only(t, doctor.Examine(t.Context(), local), "disk"))
	require.Zero(t, authorizer.cluster.Load())

	local.Strangers = true // such as by authorization.allow_if_no_acl
	require.Equal(t, want, only(t, doctor.Examine(t.Context(), local), "disk"))
	require.NotZero(t, authorizer.cluster.Load())
	require.Equal(t, want, only(t, doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{addr}}), "disk"))
}

// Of several listeners the one is named that was asked, and those that were not.
func TestWhichListenerIsAsked(t *testing.T) {
	t.Parallel()
	var logins string
	addr := gatewaytest.Start(t, gatewaytest.Listener("inner", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &logins))
	findings := of(doctor.Examine(t.Context(), doctor.Setup{Local: true, Listeners: []doctor.Listener{
		{Key: "listen", Listen: addr, Protocol: "PLAINTEXT"},
		{Key: "listeners.inner.listen", Listen: logins, Protocol: "SASL_PLAINTEXT"},
	}}), "reachable")
	require.Len(t, findings, 2)
	require.Equal(t, doctor.OK, findings[0].Status)
	require.Equal(t, doctor.Note, findings[1].Status)
	require.Equal(t, "only "+addr+" (listen) is asked, and not "+logins+" (listeners.inner.listen, SASL_PLAINTEXT)", findings[1].Text)
	require.Contains(t, findings[1].Remedy, "--bootstrap")
}

// Where no listener is for who neither encrypts nor logs in, none is asked: the gateway
// would refuse it, which is no fault. That somebody listens is seen.
func TestNoListenerForWhoDoesNotLogIn(t *testing.T) {
	t.Parallel()
	var logins string
	gatewaytest.Start(t, gatewaytest.Listener("inner", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &logins))
	setup := doctor.Setup{Local: true, Listeners: []doctor.Listener{
		{Key: "listeners.inner.listen", Listen: logins, Advertise: "kafka.example.com", Protocol: "SASL_PLAINTEXT"},
		{Key: "listeners.outer.listen", Listen: "127.0.0.1:1", Advertise: "kafka.example.com:19093", Protocol: "SASL_SSL"},
	}}
	_, port, err := net.SplitHostPort(logins)
	require.NoError(t, err)
	require.Equal(t, doctor.Finding{
		Check: "reachable", Status: doctor.Note,
		Text:   "somebody listens on " + logins + " (listeners.inner.listen), and was not asked: its protocol is SASL_PLAINTEXT, and there are no flags for that",
		Remedy: "ask as its clients do, who are told kafka.example.com:" + port + ": with --user NAME --password-file FILE",
	}, only(t, doctor.Examine(t.Context(), setup), "reachable"))

	setup.Listeners = setup.Listeners[1:]
	away := only(t, doctor.Examine(t.Context(), setup), "reachable")
	require.Equal(t, doctor.Fail, away.Status)
	require.Contains(t, away.Text, "nobody listens on 127.0.0.1:1 (listeners.outer.listen): connect: connection refused")
}
