package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// The listeners of one gateway are compared in one run: in the clear, by TLS, and
// by TLS with a login.
func TestCompareListeners(t *testing.T) {
	folder := t.TempDir()
	ca := ssltest.NewAuthority(t)
	files := ca.Issue(t, ssltest.Server()).Write(t, folder)
	var encrypted, loggedIn string
	open := gatewaytest.Start(t,
		gatewaytest.Config(func(c *app.Config) { c.TLS.Certificate, c.TLS.Key = files.Certificate, files.Key }),
		gatewaytest.Listener("ssl", server.ListenerConfig{Protocol: "SSL"}, &encrypted),
		gatewaytest.Listener("sasl", server.ListenerConfig{Protocol: "SASL_SSL"}, &loggedIn))
	client, err := kgo.NewClient(kgo.SeedBrokers(open))
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).AlterUserSCRAMs(t.Context(), nil,
		[]kadm.UpsertSCRAM{{User: "bench", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "secret"}})
	require.NoError(t, err)
	password := filepath.Join(folder, "password")
	require.NoError(t, os.WriteFile(password, []byte("secret\n"), 0o600))
	out := filepath.Join(folder, "out.json")
	require.NoError(t, run(t.Context(), []string{
		"-only", "roundtrip,throughput", "-requests", "20", "-bytes", "100000", "-sizes", "1024", "-acks", "all", "-json", out,
		"-ca", ca.Write(t, folder), "-user", "bench", "-password-file", password,
		open, "ssl://" + encrypted, "sasl_ssl://" + loggedIn,
	}))
	raw, err := os.ReadFile(out)
	require.NoError(t, err)
	var rows []row
	require.NoError(t, json.Unmarshal(raw, &rows))
	require.NotEmpty(t, rows)
	require.Contains(t, rows[0].Values, "C")
	require.NotNil(t, rows[0].Ratio)
	require.NotNil(t, rows[0].RatioC)
}

func TestAddresses(t *testing.T) {
	_, _, err := newAccess("https://h:1", cli.Connection{})
	require.ErrorContains(t, err, `"https" is none of plaintext, ssl, sasl_plaintext, sasl_ssl, iggy`)
	_, _, err = newAccess("sasl_ssl://h:1", cli.Connection{})
	require.EqualError(t, err, "sasl_ssl://h:1: needs -user and -password-file, or -token-file")
	for _, addr := range []string{"h:1", "plaintext://h:1", "SSL://h:1"} {
		at, a, err := newAccess(addr, cli.Connection{User: "u", CA: ""})
		require.NoError(t, err)
		require.Equal(t, "h:1", at)
		require.Nil(t, a.login)
		require.Equal(t, addr == "SSL://h:1", a.tls != nil)
	}
}
