package doctor_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/doctor"
	"github.com/iggykafka/gateway/app/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// of returns the findings of a check.
func of(r doctor.Report, check string) (findings []doctor.Finding) {
	for _, f := range r {
		if f.Check == check {
			findings = append(findings, f)
		}
	}
	return findings
}

// only returns the one finding of a check.
func only(t *testing.T, r doctor.Report, check string) doctor.Finding {
	t.Helper()
	findings := of(r, check)
	require.Len(t, findings, 1, "%v", r)
	return findings[0]
}

func advertise(address string) func(*app.Config) {
	return func(c *app.Config) { c.Server.Advertise = address }
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	var url string
	addr := gatewaytest.Start(t, gatewaytest.Admin(&url))
	r := doctor.Examine(t.Context(), doctor.Setup{
		Bootstrap: []string{addr}, Local: true, Listeners: []doctor.Listener{{Key: "listen", Listen: addr, Protocol: "PLAINTEXT"}}, Storage: "embedded", Sync: true,
		MaxConnections: 1, Memory: 1 << 20, Admin: strings.TrimPrefix(url, "http://"),
	})
	require.True(t, r.Healthy(), "%v", r)
	for _, check := range []string{"reachable", "advertised", "exposure", "storage", "clock"} {
		require.Equal(t, doctor.OK, only(t, r, check).Status, check)
	}
	var out bytes.Buffer
	require.NoError(t, r.JSON(&out))
	var read struct {
		Healthy  bool
		Findings []doctor.Finding
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.True(t, read.Healthy)
	require.Equal(t, []doctor.Finding(r), read.Findings)
	out.Reset()
	require.NoError(t, r.Text(&out))
	require.Contains(t, out.String(), "OK  reachable ")
}

// Of a cluster elsewhere only what clients see is looked at.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	r := doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{gatewaytest.Start(t)}})
	require.True(t, r.Healthy())
	require.Empty(t, of(r, "storage"))
	require.Empty(t, of(r, "exposure"))
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	r := doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{"127.0.0.1:1"}})
	require.False(t, r.Healthy())
	require.Equal(t, doctor.Fail, only(t, r, "reachable").Status)
	require.Contains(t, r[0].Remedy, "start the gateway")
}

func TestAdvertisedAddressLeadsNowhere(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t, gatewaytest.Config(advertise("127.0.0.1:1")))
	f := only(t, doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{addr}}), "advertised")
	require.Equal(t, doctor.Fail, f.Status)
	require.Contains(t, f.Text, "clients are sent to 127.0.0.1:1")
	require.Contains(t, f.Remedy, "set advertise")
}

func TestAdvertisedAddressLeadsToOthers(t *testing.T) {
	t.Parallel()
	other := gatewaytest.Start(t)
	addr := gatewaytest.Start(t, gatewaytest.Config(advertise(other)))
	f := only(t, doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{addr}}), "advertised")
	require.Equal(t, doctor.Fail, f.Status)
	require.Contains(t, f.Text, "another cluster answers")
}

func TestLoopbackIsAdvertisedToTheNetwork(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t)
	r := doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{addr}, Local: true, Listeners: []doctor.Listener{{Key: "listen", Listen: "0.0.0.0:9092", Protocol: "PLAINTEXT"}}, Authorizer: true, Admin: "0.0.0.0:1"})
	require.Equal(t, doctor.Warn, only(t, r, "advertised").Status)
	require.Len(t, of(r, "exposure"), 2)
}

func TestRecordsFromTheFuture(t *testing.T) {
	t.Parallel()
	addr := gatewaytest.Start(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	defer client.Close()
	soon := time.Now().Add(20 * time.Minute)
	require.NoError(t, client.ProduceSync(t.Context(),
		&kgo.Record{Topic: "now", Value: []byte("v")},
		&kgo.Record{Topic: "soon", Value: []byte("v"), Timestamp: soon}).FirstErr())
	f := only(t, doctor.Examine(t.Context(), doctor.Setup{Bootstrap: []string{addr}}), "timestamps")
	require.Equal(t, doctor.Warn, f.Status)
	require.Contains(t, f.Text, "offset 0 of soon/0 is from "+soon.UTC().Format(time.RFC3339))
}

// Names and texts of a cluster that is not trusted are shown, not obeyed.
func TestTextIsPlain(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, doctor.Report{{Check: "disk", Status: doctor.Fail, Text: "\x1b[2J\tfull\u009b1m", Remedy: "\u202enone\r"}}.Text(&out))
	require.Equal(t, "FAIL  disk  �[2J�full�1m\n            → �none�\n", out.String())
}
