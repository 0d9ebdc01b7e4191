package ssl

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"iter"
	"strings"
	"time"
)

// What can be in the wrong file, as it is told.
const (
	aCertificate = "a certificate"
	aPrivateKey  = "a private key"
)

// blocks are those of a PEM file. What lies between them is comment.
func blocks(content []byte) iter.Seq[*pem.Block] {
	return func(yield func(*pem.Block) bool) {
		for rest := content; ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil || !yield(block) {
				return
			}
		}
	}
}

func isPrivateKey(b *pem.Block) bool {
	return b.Type == "PRIVATE KEY" || strings.HasSuffix(b.Type, " PRIVATE KEY")
}

// whatIsIn tells what the first block of a file is that people take for another one; ""
// is none of these.
func whatIsIn(content []byte) string {
	for block := range blocks(content) {
		switch {
		case block.Type == "CERTIFICATE":
			return aCertificate
		case isPrivateKey(block):
			return aPrivateKey
		case strings.HasSuffix(block.Type, "PUBLIC KEY"):
			return "a public key"
		case strings.HasSuffix(block.Type, "CERTIFICATE REQUEST"):
			return "a request for a certificate, which an authority has to sign"
		}
	}
	return ""
}

// name is the key of the configuration. That of a listener gets its full name only
// where a line begins.
func (c choice) name() string {
	if strings.HasPrefix(c.key, "tls.") {
		return c.key
	}
	return "the listener's " + c.key
}

// lacks is the fault of a file without the thing that it should hold: a certificate or a
// private key.
func (c choice) lacks(thing string, content []byte) error {
	what := whatIsIn(content)
	switch {
	case len(bytes.TrimSpace(content)) == 0:
		return c.fault("is empty; set %s to the PEM file with the %s", c.name(), thing)
	case what != "":
		return c.fault("holds no %s, but %s; set %s to the PEM file with the %[1]s", thing, what, c.name())
	case bytes.HasPrefix(content, []byte{0x30}) || bytes.HasPrefix(content, []byte{0xfe, 0xed}):
		return c.fault("holds no %s in PEM; it looks like DER, PKCS#12 or a Java key store, which have to be converted (openssl)", thing)
	}
	return c.fault("holds no %s in PEM; set %s to the PEM file with the %[1]s", thing, c.name())
}

// chain returns the certificates of a listener, its own first.
func (f files) chain(r raw) ([]*x509.Certificate, error) {
	if f.key.value != "" && whatIsIn(r.certificate) == aPrivateKey && whatIsIn(r.key) == aCertificate {
		return nil, f.certificate.fault("holds the private key, and %s the certificate; exchange %s and %s", f.key.value, f.certificate.name(), f.key.name())
	}
	return certificates(f.certificate, r.certificate)
}

// keyPair puts the certificate and its private key together.
func keyPair(f files, r raw, chain []*x509.Certificate) (tls.Certificate, error) {
	if err := f.checkKey(r.key); err != nil {
		return tls.Certificate{}, err
	}
	both, err := tls.X509KeyPair(r.certificate, r.key)
	if err == nil {
		return both, nil
	}
	reason := strings.TrimPrefix(err.Error(), "tls: ")
	if !strings.Contains(reason, "does not match") {
		return both, f.keyFile().fault("holds a private key that cannot be used: %s", reason)
	}
	for i, c := range chain {
		alone := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		if _, err := tls.X509KeyPair(alone, r.key); err == nil {
			return both, f.certificate.fault("has the certificate of the private key as number %d; put it first, before those of authorities", i+1)
		}
	}
	return both, f.keyFile().fault("holds a private key that is not that of the first certificate of %s; set %s to the PEM file with that", f.certificate.value, f.key.name())
}

// checkKey says what is wrong with the file that should hold the private key.
func (f files) checkKey(content []byte) error {
	for block := range blocks(content) {
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return f.keyFile().fault("holds an encrypted private key; decrypt it (openssl pkey) and guard the file by its permissions")
		case isPrivateKey(block):
			return nil
		}
	}
	if f.key.value == "" {
		return f.certificate.fault("holds a certificate and no private key; set %s to the PEM file with the private key", f.key.name())
	}
	return f.key.lacks("private key", content)
}

// certificates reads all certificates of a PEM file; there is at least one.
func certificates(c choice, content []byte) (all []*x509.Certificate, err error) {
	for block := range blocks(content) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, c.fault("holds a certificate, number %d, that cannot be read: %w", len(all)+1, err)
		}
		all = append(all, parsed)
	}
	if len(all) == 0 {
		return nil, c.lacks("certificate", content)
	}
	return all, nil
}

func (m *material) readAuthorities(c choice, content []byte, now time.Time) error {
	all, err := certificates(c, content)
	if err != nil {
		return err
	}
	m.clients = x509.NewCertPool()
	var expired []*x509.Certificate
	for _, authority := range all {
		m.clients.AddCert(authority)
		if now.After(authority.NotAfter) {
			expired = append(expired, authority)
		}
	}
	if len(expired) > 0 {
		m.warn("%s: %d of %d authorities of clients have expired, the first is %s, at %s; clients with their certificates are refused",
			c.value, len(expired), len(all), expired[0].Subject, expired[0].NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}
