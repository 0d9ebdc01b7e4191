package app

import (
	"encoding/json"
	"testing"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/app/doctor"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// ofIggy runs doctor over an Iggy server and returns what it says of that.
func ofIggy(t *testing.T, address, password string, flags ...string) (findings []doctor.Finding) {
	t.Helper()
	got := executeWith([]string{"KAFKA_GATEWAY_IGGY__PASSWORD=" + password}, append([]string{"doctor", "--json", "--listen=127.0.0.1:1", "--admin.listen=",
		"--storage.backend=iggy", "--iggy.address=" + address, "--iggy.username=" + iggytest.Username, "--iggy.connect_timeout=5s"}, flags...)...)
	require.Equal(t, exitFailed, got.code, "no gateway runs")
	require.Empty(t, got.err)
	require.NotContains(t, got.out, password)
	var report struct{ Findings []doctor.Finding }
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	for _, f := range report.Findings {
		if f.Check == "iggy" {
			findings = append(findings, f)
		}
	}
	return findings
}

// What is wrong with an Iggy server is told in words that name it, and what to do.
func TestDoctorOverIggy(t *testing.T) { // alone: the SDK's lines go to the standard log
	server := iggytest.Real(t, iggytest.NoFsync(), iggytest.Lossy(1))
	cfg := iggy.DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = server.Address(), iggytest.Username, iggytest.Password

	fresh := ofIggy(t, server.Address(), iggytest.Password)
	require.Equal(t, []doctor.Status{doctor.OK, doctor.Note}, []doctor.Status{fresh[0].Status, fresh[1].Status})
	require.Contains(t, fresh[1].Text, "(stream kafka-gateway)")

	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	used := iggy.New(cfg, catalog, iggy.Options{Log: zap.NewNop()})
	require.NoError(t, used.Start(t.Context()))
	require.NoError(t, used.Close())
	lossy := ofIggy(t, server.Address(), iggytest.Password)
	require.Len(t, lossy, 2)
	require.Equal(t, doctor.Warn, lossy[1].Status)
	require.Contains(t, lossy[1].Remedy, "set system.partition.messages_required_to_save = 1")

	refused := ofIggy(t, server.Address(), "hunter22")
	require.Len(t, refused, 1)
	require.Equal(t, doctor.Fail, refused[0].Status)
	require.Contains(t, refused[0].Text, "iggy.username, iggy.password: the Iggy server at "+server.Address()+" refuses the login")

	server.Kill()
	away := ofIggy(t, server.Address(), iggytest.Password)
	require.Len(t, away, 1)
	require.Equal(t, doctor.Fail, away[0].Status)
	require.Contains(t, away[0].Text, "connection refused")
	require.Contains(t, away[0].Remedy, "start the Iggy server")
}

// The authorizer that asks Iggy what users may do needs a permission for that; without
// it the gateway would not start. Nothing is said where nobody asks.
func TestDoctorOfIggysUsers(t *testing.T) { // alone, as above
	server := iggytest.Real(t, iggytest.NoFsync())
	root, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(server.Address()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	_, err = root.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(t, err)
	for name, may := range map[string]bool{"blind": false, "seeing": true} {
		_, err = root.CreateUser(name, "secret", iggcon.Active, &iggcon.Permissions{
			Global: iggcon.GlobalPermissions{ManageStreams: true, ReadServers: true, ReadUsers: may},
		})
		require.NoError(t, err)
	}
	const asks = "--authorization.authorizer=iggy"
	require.Len(t, ofIggy(t, server.Address(), "secret", "--iggy.username=blind"), 2)
	require.Len(t, ofIggy(t, server.Address(), "secret", "--iggy.username=blind", "--sasl.plain.passwords=iggy"), 2, "each password is a login of its own")
	require.Len(t, ofIggy(t, server.Address(), "secret", "--iggy.username=seeing", asks), 2)
	blind := ofIggy(t, server.Address(), "secret", "--iggy.username=blind", asks)
	require.Len(t, blind, 3)
	require.Equal(t, doctor.Finding{
		Check: "iggy", Status: doctor.Fail, Remedy: "give it the permission read_users",
		Text: "the user may not read users, so that the gateway does not start with authorization.authorizer: iggy (user blind)",
	}, blind[1])
}

// An admin listener on all addresses is told of, although this machine reaches it
// on one that is only its own.
func TestDoctorOfAnAdminListenerForAll(t *testing.T) {
	t.Parallel()
	got := executeWith(nil, "doctor", "--listen=127.0.0.1:1", "--admin.listen=0.0.0.0:2")
	require.Equal(t, exitFailed, got.code, "no gateway runs")
	require.Contains(t, got.out, "the admin listener on 0.0.0.0:2 shows names")
}
