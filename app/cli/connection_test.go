package cli_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// guarded is a gateway with TLS, and alice, whose password is the content of a file.
type guarded struct {
	open, ssl, saslSSL string
	folder             string
	ca                 string
	client             ssltest.Files
}

const password = `wr"ong\ horse`

func (g guarded) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(g.folder, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func startGuarded(t *testing.T) guarded {
	t.Helper()
	g := guarded{folder: t.TempDir()}
	ca := ssltest.NewAuthority(t)
	g.ca = ca.Write(t, g.folder)
	own := ca.Issue(t, ssltest.Server()).Write(t, t.TempDir())
	g.client = ca.Issue(t, ssltest.Client("alice")).Write(t, t.TempDir())
	open := gatewaytest.Start(t,
		gatewaytest.Config(func(c *app.Config) { c.TLS.Certificate, c.TLS.Key, c.TLS.ClientCA = own.Certificate, own.Key, g.ca }),
		gatewaytest.Listener("mutual", server.ListenerConfig{Protocol: "SSL", ClientAuth: "required"}, &g.ssl),
		gatewaytest.Listener("secure", server.ListenerConfig{Protocol: "SASL_SSL"}, &g.saslSSL))
	g.open = open
	client, err := kgo.NewClient(kgo.SeedBrokers(open))
	require.NoError(t, err)
	defer client.Close()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		altered, err := kadm.NewClient(client).AlterUserSCRAMs(t.Context(), nil,
			[]kadm.UpsertSCRAM{{User: "alice", Mechanism: mechanism, Iterations: 4096, Password: password}})
		require.NoError(t, err)
		require.NoError(t, altered.Error())
	}
	return g
}

func TestLogins(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	secret := g.write(t, "password", password+"\n")
	authorities, err := os.ReadFile(g.ca)
	require.NoError(t, err)
	certificate, err := os.ReadFile(g.client.Certificate)
	require.NoError(t, err)
	key, err := os.ReadFile(g.client.Key)
	require.NoError(t, err)
	both := g.write(t, "both.pem", string(key)+string(certificate))
	inline := func(pem []byte) string { return strings.ReplaceAll(string(pem), "\n", " \\\n  \\n") }
	jaas := func(module string) string {
		return fmt.Sprintf("org.apache.kafka.common.security.%s required username=\"alice\" password=\"%s\";", module,
			strings.ReplaceAll(`wr\"ong\\ horse`, `\`, `\\`)) // once for JAAS, and again for properties
	}
	scram := g.write(t, "scram.properties", "# a comment\nsecurity.protocol=SASL_SSL\nsasl.mechanism: SCRAM-SHA-256\nsasl.jaas.config="+jaas("scram.ScramLoginModule")+
		"\nssl.truststore.type=PEM\nssl.truststore.location="+g.ca+"\nclient.id=ignored\n")
	plain := g.write(t, "plain.properties", "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config="+jaas("plain.PlainLoginModule")+
		"\nssl.truststore.type=PEM\nssl.truststore.certificates="+inline(authorities)+"\n")
	mutual := g.write(t, "mutual.properties", "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location="+g.ca+
		"\nssl.keystore.type=PEM\nssl.keystore.location="+both+"\nssl.endpoint.identification.algorithm=\n")
	keyInline := g.write(t, "inline.properties", "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location="+g.ca+
		"\nssl.keystore.type=PEM\nssl.keystore.certificate.chain="+inline(certificate)+"\nssl.keystore.key="+inline(key)+"\n")
	for _, test := range []struct {
		at, flags string
	}{
		{g.saslSSL, "--ca " + g.ca + " --user alice --password-file " + secret},
		{g.saslSSL, "--ca " + g.ca + " --user alice --password-file " + secret + " --mechanism SCRAM-SHA-256"},
		{g.saslSSL, "--ca " + g.ca + " --user alice --password-file " + secret + " --mechanism PLAIN"},
		{g.saslSSL, "--command-config " + scram},
		{g.saslSSL, "--command-config " + plain},
		{g.saslSSL, "--command-config " + scram + " --user alice --mechanism PLAIN --password-file " + secret},
		{g.ssl, "--ca " + g.ca + " --cert " + g.client.Certificate + " --key " + g.client.Key},
		{g.ssl, "--ca " + g.ca + " --cert " + both},
		{g.ssl, "--command-config " + mutual},
		{g.ssl, "--command-config " + keyInline},
	} {
		_, err := execute(t, strings.Fields("topics list --bootstrap "+test.at+" "+test.flags)...)
		require.NoError(t, err, test.flags)
	}
	wrong := g.write(t, "wrong", "guess")
	for _, test := range []struct{ at, flags, want string }{
		{g.saslSSL, "--ca " + g.ca + " --user alice --password-file " + wrong, "the audit in the gateway's log says which"},
		{g.saslSSL, "--ca " + g.ca + " --token-file " + wrong, "(the listener offers PLAIN, SCRAM-SHA-256, SCRAM-SHA-512: --mechanism, with --user and --password-file)"},
		{g.saslSSL, "--ca " + g.ca, "(the listener may ask for a login: --user and --password-file)"},
		{g.saslSSL, "--user alice --password-file " + secret, "the listener may ask for encryption"},
		{g.saslSSL, "", "the listener may ask for encryption, --tls or --ca, or for a login"},
		{g.saslSSL, "--tls --user alice --password-file " + secret, "--ca names a file with the authority"},
		{g.ssl, "--ca " + g.ca, "the server may ask for a certificate"},
		{g.open, "--ca " + g.ca, "(the listener may not encrypt: leave --tls"},
		{g.open, "--user alice --password-file " + secret, "the listener has nobody log in"},
	} {
		_, err := execute(t, strings.Fields("topics list --timeout 5s --bootstrap "+test.at+" "+test.flags)...)
		require.ErrorContains(t, err, test.want)
		require.NotContains(t, err.Error(), password)
		require.NotContains(t, err.Error(), "guess")
	}
}

// A gateway closes the connection of a login that it cannot check, as while the Iggy
// server is away: whoever logs in is told of that, and of encryption only where that can
// be the reason.
func TestClosedDuringTheLogin(t *testing.T) {
	t.Parallel()
	g := guarded{folder: t.TempDir()}
	ca := ssltest.NewAuthority(t)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	encrypted, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	encrypted = tls.NewListener(encrypted, &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, ssltest.Server()).Pair(t)}})
	var closed sync.WaitGroup
	for _, listener := range []net.Listener{plain, encrypted} {
		closed.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 64<<10))
				_ = conn.Close()
			}
		})
	}
	t.Cleanup(func() { _, _ = plain.Close(), encrypted.Close(); closed.Wait() })
	login := " --user alice --password-file " + g.write(t, "password", "secret")
	const away = "what checks logins, as an Iggy server or the keys of tokens, may not answer; the audit in the gateway's log says so)"
	for _, test := range []struct {
		at    net.Listener
		flags string
		want  string
	}{
		{plain, login, "(the listener may ask for encryption, --tls or --ca; if it does not, " + away},
		{encrypted, login + " --ca " + ca.Write(t, g.folder), "(" + away},
	} {
		_, err := execute(t, strings.Fields("topics list --timeout 5s --bootstrap "+test.at.Addr().String()+test.flags)...)
		require.ErrorContains(t, err, "the connection was closed without an answer "+test.want)
	}
}

// Who asks for a mechanism that a listener has not is told those that it has.
func TestOtherMechanisms(t *testing.T) {
	t.Parallel()
	var plain string
	gatewaytest.Start(t, gatewaytest.Listener("plain", server.ListenerConfig{Protocol: "SASL_PLAINTEXT", Mechanisms: []string{"PLAIN"}}, &plain))
	g := guarded{folder: t.TempDir()}
	secret := g.write(t, "password", "guess")
	const advice = "(the listener offers PLAIN: --mechanism, with --user and --password-file)"
	for _, flags := range []string{"--user alice --password-file " + secret, "--token-file " + secret} {
		_, err := execute(t, strings.Fields("topics list --bootstrap "+plain+" "+flags)...)
		require.ErrorContains(t, err, advice)
	}
	require.Equal(t, "the listener offers OAUTHBEARER: --token-file for OAUTHBEARER", cli.Offers([]string{"OAUTHBEARER"}))
	require.Equal(t, "the listener offers PLAIN, OAUTHBEARER: --mechanism, with --user and --password-file; --token-file for OAUTHBEARER",
		cli.Offers([]string{"PLAIN", "OAUTHBEARER"}))
	require.Equal(t, "the listener offers other ways to log in: --mechanism, --token-file", cli.Offers(nil))
}

// What is wrong with flags and properties is said before anybody is asked, and
// without the secret.
func TestWrongLogins(t *testing.T) {
	t.Parallel()
	g := guarded{folder: t.TempDir()}
	const secret = "s3cret"
	file := g.write(t, "password", secret)
	long := g.write(t, "long", secret+"\n"+secret)
	properties := func(text string) string {
		return "--command-config " + g.write(t, fmt.Sprintf("%d.properties", len(text)), text)
	}
	login := "security.protocol=SASL_PLAINTEXT\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password=\"" + secret + "\";\n"
	for flags, want := range map[string]string{
		"--user alice":                                                        "to log in, --user and --password-file are needed, or --token-file",
		"--password-file " + file:                                             "to log in, --user and --password-file are needed, or --token-file",
		"--mechanism PLAIN":                                                   "to log in, --user and --password-file are needed, or --token-file",
		"--user a --password-file " + long:                                    "--password-file: " + long + " does not hold one line",
		"--user a --password-file /nonexistent":                               "--password-file: open /nonexistent: no such file or directory",
		"--user a --mechanism MD5 --password-file " + file:                    `--mechanism: "MD5" is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512`,
		"--token-file " + file + " --user a":                                  "--token-file logs in by OAUTHBEARER, without",
		"--token-file /nonexistent":                                           "--token-file: open /nonexistent: no such file or directory",
		"--key " + file:                                                       "--key belongs to --cert, which names the certificate",
		"--cert " + file:                                                      "--cert: tls: failed to find any PEM data in certificate input; if its private key is in another file, name that by --key",
		"--cert " + file + " --key " + file:                                   "--cert and --key: tls: failed to find any PEM data",
		"--ca " + file:                                                        "--ca " + file + " holds no certificate in PEM",
		"--command-config /nonexistent":                                       "--command-config /nonexistent: cannot be read",
		properties("security.protocol=KERBEROS\n"):                            `security.protocol: "KERBEROS" is none of`,
		properties(login):                                                     "sasl.mechanism: GSSAPI is not read",
		properties(login + "sasl.mechanism=X-" + "Y\n"):                       `sasl.mechanism: "X-Y" is none of`,
		properties("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"):      "sasl.jaas.config: needs PlainLoginModule or ScramLoginModule",
		properties("security.protocol=SSL\nssl.truststore.location=/x.jks\n"): "ssl.truststore.type: stores of type JKS are not read here",
		properties("security.protocol=SSL\nssl.keystore.type=PEM\nssl.key.password=x\nssl.keystore.location=" + file + "\n"): "ssl.key.password: encrypted keys are not read here",
	} {
		_, err := execute(t, strings.Fields("topics list "+flags)...)
		require.ErrorAs(t, err, new(cli.UsageError), flags)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), secret)
	}
}
