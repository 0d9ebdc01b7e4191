package ssl

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/iggykafka/gateway/core/permissions"
	"github.com/iggykafka/gateway/internal/smallfile"
)

// maxFile bounds a PEM file, in bytes: hundreds of authorities.
const maxFile = 1 << 20

// files are the files of a listener, each with the key that names it.
type files struct{ certificate, key, clientCA choice }

// parts are the files that change together: the certificate with its key, and the
// authorities of clients.
func (f files) parts() (own, clients files) {
	return files{certificate: f.certificate, key: f.key}, files{clientCA: f.clientCA}
}

// material is what files hold.
type material struct {
	certificate tls.Certificate
	clients     *x509.CertPool // nil without client_ca
	ends        time.Time      // of the first certificate of the chain to expire; zero without one
	warnings    []string
	sum         [sha256.Size]byte
}

// fault is what is wrong with the file that a key names.
func (c choice) fault(format string, args ...any) error {
	return fmt.Errorf("%s: %s %w", c.key, c.value, fmt.Errorf(format, args...))
}

// raw are the contents of files.
type raw struct{ certificate, key, clientCA []byte }

func (f files) read() (r raw, err error) {
	var faults [3]error
	if f.certificate.value != "" {
		r.certificate, faults[0] = f.certificate.read()
	}
	if r.key = r.certificate; f.key.value != "" {
		r.key, faults[1] = f.key.read()
	}
	if f.clientCA.value != "" {
		r.clientCA, faults[2] = f.clientCA.read()
	}
	return r, errors.Join(faults[:]...)
}

func (c choice) read() ([]byte, error) {
	content, err := smallfile.Read(c.value, maxFile)
	if err != nil {
		return nil, c.fault("%w; set %s to a PEM file", err, c.name())
	}
	return content, nil
}

func (r raw) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, content := range [][]byte{r.certificate, r.key, r.clientCA} {
		fmt.Fprintf(h, "%d:", len(content))
		h.Write(content)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// check says what is wrong with the files.
func (f files) check() error {
	content, err := f.read()
	if err != nil {
		return err
	}
	_, err = f.parse(content, time.Now())
	return err
}

// parse makes sure that what was read can be used, now.
func (f files) parse(r raw, now time.Time) (*material, error) {
	m := &material{sum: r.sum()}
	var own, clients error
	if f.certificate.value != "" {
		own = m.readCertificate(f, r, now)
	}
	if f.clientCA.value != "" {
		clients = m.readAuthorities(f.clientCA, r.clientCA, now)
	}
	if err := errors.Join(own, clients); err != nil {
		return nil, err
	}
	m.warnOfOthers(f.keyFile(), f.clientCA)
	return m, nil
}

// keyFile is the file with the private key.
func (f files) keyFile() choice {
	if f.key.value == "" {
		return f.certificate
	}
	return f.key
}

func (m *material) readCertificate(f files, r raw, now time.Time) error {
	chain, err := f.chain(r)
	if err != nil {
		return err
	}
	if m.certificate, err = keyPair(f, r, chain); err != nil {
		return err
	}
	first := 0 // to expire
	for i, c := range chain {
		if c.NotAfter.Before(chain[first].NotAfter) {
			first = i
		}
	}
	leaf := chain[0]
	m.ends = chain[first].NotAfter
	switch {
	case now.After(m.ends):
		return f.certificate.expired(first, m.ends, now)
	case now.Before(leaf.NotBefore):
		m.warn("%s is not valid before %s; clients refuse it until then", f.certificate.value, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
		m.warn("%s names no host (subjectAltName); clients that look at names refuse it", f.certificate.value)
	}
	if !serves(leaf) {
		m.warn("%s is not for servers (extendedKeyUsage); clients refuse it", f.certificate.value)
	}
	return nil
}

// expired is the fault of a certificate, which is not the first one if an authority's
// between it and one that clients know ends earlier.
func (c choice) expired(number int, ends, now time.Time) error {
	which := "has expired"
	if number > 0 {
		which = fmt.Sprintf("holds a certificate, number %d, that has expired", number+1)
	}
	return c.fault("%s, at %s; renew it, or correct the clock of this machine, which shows %s",
		which, ends.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

func serves(c *x509.Certificate) bool {
	for _, usage := range c.ExtKeyUsage {
		if usage == x509.ExtKeyUsageAny || usage == x509.ExtKeyUsageServerAuth {
			return true
		}
	}
	return len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0
}

func (m *material) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// warnOfOthers warns of files that every user of the machine can get at: with the key one
// pretends to be the gateway, with authorities of one's own one logs in as anybody.
func (m *material) warnOfOthers(key, clientCA choice) {
	switch read, change := others(key); {
	case change:
		m.warn("%s holds a private key that every user of this machine can change; take that away, of the file and its folder (chmod o-w)", key.value)
	case read:
		m.warn("%s holds a private key that every user of this machine can read; take that away (chmod o-r)", key.value)
	}
	if _, change := others(clientCA); change {
		m.warn("%s says whose certificates are good, and every user of this machine can change it; take that away, of the file and its folder (chmod o-w)", clientCA.value)
	}
}

// others says what every user of the machine can do to the file, if there is one.
func others(c choice) (read, change bool) {
	if c.value == "" {
		return false, false
	}
	return permissions.Others(c.value)
}
