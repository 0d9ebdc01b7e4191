// Package ssltest makes authorities and certificates for tests.
//
//	ca := ssltest.NewAuthority(t)
//	server := ca.Issue(t, ssltest.Server())
//	files := server.Write(t, t.TempDir())             // files.Certificate, files.Key
//	client := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue(t, ssltest.Client("alice")).Pair(t)}}
package ssltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// PEM is its own certificate.
	PEM []byte
}

// NewAuthority returns an authority that nobody knows yet.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	key := newKey(t)
	template := newTemplate(t)
	template.Subject = pkix.Name{CommonName: "Authority of tests"}
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &Authority{parsed, key, encode("CERTIFICATE", der)}
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Write puts the authority's certificate into a folder, and returns the file.
func (a *Authority) Write(t testing.TB, folder string) string {
	t.Helper()
	return write(t, folder, "ca.pem", a.PEM)
}

// Option changes a certificate before it is signed.
type Option func(*x509.Certificate)

// Server makes a certificate one of 127.0.0.1 and localhost.
func Server() Option {
	return func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: "localhost"}
		c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
}

// Client makes a certificate one of a client with a common name.
func Client(name string) Option {
	return func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: name}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
}

// Until ends a certificate at a time.
func Until(end time.Time) Option {
	return func(c *x509.Certificate) {
		c.NotAfter = end
		if !c.NotBefore.Before(end) {
			c.NotBefore = end.Add(-time.Hour)
		}
	}
}

// Issued is a certificate and its key, in PEM.
type Issued struct{ Certificate, Key []byte }

// Issue signs a certificate, which is good for a year.
func (a *Authority) Issue(t testing.TB, opts ...Option) Issued {
	t.Helper()
	template := newTemplate(t)
	for _, opt := range opts {
		opt(template)
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return Issued{encode("CERTIFICATE", der), encode("PRIVATE KEY", pkcs8)}
}

// Pair returns the certificate as TLS takes it.
func (i Issued) Pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(i.Certificate, i.Key)
	require.NoError(t, err)
	return pair
}

// Files are the files of a certificate.
type Files struct{ Certificate, Key string }

// Write puts certificate and key into a folder, over those that are there.
func (i Issued) Write(t testing.TB, folder string) Files {
	t.Helper()
	return Files{write(t, folder, "cert.pem", i.Certificate), write(t, folder, "key.pem", i.Key)}
}

func write(t testing.TB, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func newTemplate(t testing.TB) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0)}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
