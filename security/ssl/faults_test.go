package ssl

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// Every fault says which key is wrong, and what to set.
func TestFaultsAtTheStart(t *testing.T) {
	t.Parallel()
	ca := ssltest.NewAuthority(t)
	good, other := ca.Issue(t, ssltest.Server()), ca.Issue(t, ssltest.Server())
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	cert, key := file("cert", string(good.Certificate)), file("key", string(good.Key))
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Certificate = "" }, "tls.certificate: is not set; a listener with TLS needs a certificate; set it to a PEM file"},
		{func(c *Config) { c.Certificate = folder + "/none" }, "tls.certificate: " + folder + "/none cannot be read: no such file or directory; set tls.certificate to a PEM file"},
		{func(c *Config) { c.Certificate = folder }, "tls.certificate: " + folder + " is a folder, not a file; set tls.certificate to a PEM file"},
		{func(c *Config) { c.Certificate = file("empty", "\n") }, "tls.certificate: " + folder + "/empty is empty; set tls.certificate to the PEM file with the certificate"},
		{func(c *Config) { c.Certificate = key }, "tls.certificate: " + key + " holds no certificate, but a private key; set tls.certificate to the PEM file with the certificate"},
		{func(c *Config) { c.Certificate, c.Key = key, cert }, "tls.certificate: " + key + " holds the private key, and " + cert + " the certificate; exchange tls.certificate and tls.key"},
		{func(c *Config) {
			c.Certificate = file("csr", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n")
		}, "tls.certificate: " + folder + "/csr holds no certificate, but a request for a certificate, which an authority has to sign; set tls.certificate to the PEM file with the certificate"},
		{func(c *Config) { c.Certificate = file("text", "hello") }, "tls.certificate: " + folder + "/text holds no certificate in PEM; set tls.certificate to the PEM file with the certificate"},
		{func(c *Config) { c.Certificate = os.DevNull }, "tls.certificate: " + os.DevNull + " is no regular file; set tls.certificate to a PEM file"},
		{func(c *Config) { c.Key = "" }, "tls.certificate: " + cert + " holds a certificate and no private key; set tls.key to the PEM file with the private key"},
		{func(c *Config) { c.Certificate = file("der", "\x30\x82") }, "tls.certificate: " + folder + "/der holds no certificate in PEM; it looks like DER, PKCS#12 or a Java key store, which have to be converted (openssl)"},
		{func(c *Config) { c.Key = file("other", string(other.Key)) }, "tls.key: " + folder + "/other holds a private key that is not that of the first certificate of " + cert + "; set tls.key to the PEM file with that"},
		{func(c *Config) { c.Certificate = file("chain", string(ca.PEM)+string(good.Certificate)) },
			"tls.certificate: " + folder + "/chain has the certificate of the private key as number 2; put it first, before those of authorities"},
		{func(c *Config) {
			c.Key = file("public", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
		},
			"tls.key: " + folder + "/public holds no private key, but a public key; set tls.key to the PEM file with the private key"},
		{func(c *Config) {
			c.Key = file("broken", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
		},
			"tls.key: " + folder + "/broken holds a private key that cannot be used: failed to parse private key"},
		{func(c *Config) { c.Key = cert }, "tls.key: " + cert + " holds no private key, but a certificate; set tls.key to the PEM file with the private key"},
		{func(c *Config) {
			c.Key = file("locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
		}, "tls.key: " + folder + "/locked holds an encrypted private key; decrypt it (openssl pkey) and guard the file by its permissions"},
		{func(c *Config) { c.Key = file("large", string(make([]byte, maxFile+1))) }, "tls.key: " + folder + "/large is larger than 1048576 bytes; set tls.key to a PEM file"},
		{func(c *Config) { c.ClientAuth = "required" }, "tls.client_auth: required needs the authorities of clients' certificates; set tls.client_ca to a PEM file with theirs"},
		{func(c *Config) { c.ClientAuth, c.ClientCA = "requested", key }, "tls.client_ca: " + key + " holds no certificate, but a private key; set tls.client_ca to the PEM file with the certificate"},
		{func(c *Config) { c.ClientAuth, c.Certificate, c.Key = "required", folder+"/none", "" },
			"tls.client_auth: required needs the authorities of clients' certificates; set tls.client_ca to a PEM file with theirs\ntls.certificate: " + folder + "/none cannot be read: no such file or directory; set tls.certificate to a PEM file"},
	} {
		cfg := DefaultConfig()
		cfg.Certificate, cfg.Key = cert, key
		test.change(&cfg)
		p, err := New(cfg, zap.NewNop(), nil)
		require.NoError(t, err)
		_, err = p.Open(server.ListenerConfig{})
		require.EqualError(t, err, test.want)
	}
	cfg := Config{ClientAuth: "yes", MinVersion: "1.1", PrincipalMappingRules: "CN"}
	_, err := New(cfg, zap.NewNop(), nil)
	require.EqualError(t, err, `tls.client_auth: "yes" is none of none, requested, required
tls.min_version: "1.1" is none of TLSv1.2, TLSv1.3
tls.principal_mapping_rules: "CN" is no rule, from "CN" on; write RULE:pattern/replacement/ and L or U after it, or DEFAULT`)
}

// An expired certificate may be one between the listener's own and an authority, or a
// clock may be wrong.
func TestExpired(t *testing.T) {
	t.Parallel()
	ca := ssltest.NewAuthority(t)
	good := ca.Issue(t, ssltest.Server())
	old := ca.Issue(t, ssltest.Server(), ssltest.Until(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)))
	f := files{certificate: choice{"tls.certificate", "cert"}, key: choice{"tls.key", "key"}}
	now := time.Now().Truncate(time.Second)
	clock := "; renew it, or correct the clock of this machine, which shows " + now.UTC().Format(time.RFC3339)
	_, err := f.parse(raw{certificate: old.Certificate, key: old.Key}, now)
	require.EqualError(t, err, "tls.certificate: cert has expired, at 2020-01-02T03:04:05Z"+clock)
	_, err = f.parse(raw{certificate: append(good.Certificate, old.Certificate...), key: good.Key}, now)
	require.EqualError(t, err, "tls.certificate: cert holds a certificate, number 2, that has expired, at 2020-01-02T03:04:05Z"+clock)
}
