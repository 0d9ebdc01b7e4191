package ssl

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iggykafka/gateway/core/server"
)

// Config is the section "tls".
type Config struct {
	// Certificate is the PEM file with the certificate of listeners with the
	// protocol SSL or SASL_SSL, and those that lead to an authority that clients
	// know, the listener's own first (default "": none). It is read again when it
	// changes, and so are the other files.
	Certificate string `koanf:"certificate"`
	// Key is the PEM file with the private key of the certificate, not encrypted
	// (default "": the key is in the certificate's file).
	Key string `koanf:"key"`
	// ClientCA is the PEM file with the authorities that sign clients'
	// certificates (default "": none).
	ClientCA string `koanf:"client_ca"`
	// ClientAuth says whether clients show a certificate: none, requested or
	// required (default none). One that is shown has to be valid in any case.
	ClientAuth string `koanf:"client_auth"`
	// MinVersion is the oldest version of TLS that is spoken: TLSv1.2 or TLSv1.3 (default
	// TLSv1.2).
	MinVersion string `koanf:"min_version"`
	// PrincipalMappingRules makes users of the names of clients' certificates, as
	// Kafka's ssl.principal.mapping.rules does: RULE:pattern/replacement/, with L or U
	// after it to change the case, and DEFAULT, with commas between them (default
	// DEFAULT: the whole name, such as CN=alice,OU=dev,O=acme).
	PrincipalMappingRules string `koanf:"principal_mapping_rules"`
	// ExpiryWarning is how long before the end of the certificate the log warns of
	// it, once a day (default 336h; 0 never).
	ExpiryWarning time.Duration `koanf:"expiry_warning"`
}

// DefaultConfig returns a section without a certificate.
func DefaultConfig() Config {
	return Config{ClientAuth: "none", MinVersion: "TLSv1.2", PrincipalMappingRules: "DEFAULT", ExpiryWarning: 14 * 24 * time.Hour}
}

// clientAuths are the values of client_auth. What is shown is always verified.
var clientAuths = map[string]tls.ClientAuthType{
	"none":      tls.NoClientCert,
	"requested": tls.VerifyClientCertIfGiven,
	"required":  tls.RequireAndVerifyClientCert,
}

// versions are the values of min_version.
var versions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// Validate reports everything that is wrong with the section itself, a line for
// each key. The files are looked at when a listener needs them.
func (c Config) Validate() error {
	_, rules := parseMapping(c.PrincipalMappingRules)
	if rules != nil {
		rules = fmt.Errorf("tls.principal_mapping_rules: %w", rules)
	}
	return errors.Join(
		oneOf("tls.client_auth", c.ClientAuth, clientAuths),
		oneOf("tls.min_version", c.MinVersion, versions),
		rules,
	)
}

func oneOf[V any](key, word string, words map[string]V) error {
	if _, known := words[word]; known {
		return nil
	}
	return fmt.Errorf("%s: %q is none of %s", key, word, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
}

// choice is one value, and the key that it was chosen by.
type choice struct{ key, value string }

// prefer returns a listener's own value, or else the section's.
func prefer(name, own, section string) choice {
	if own != "" {
		return choice{name, own}
	}
	return choice{"tls." + name, section}
}

// clientAuth is the choice of client_auth.
func clientAuth(own, section string) (tls.ClientAuthType, choice, error) {
	c := prefer("client_auth", own, cmp.Or(section, "none"))
	return clientAuths[c.value], c, oneOf(c.key, c.value, clientAuths)
}

// of returns the files of a listener, and what it asks of clients. A key that the
// listener sets goes before that of the section.
func (c Config) of(l server.ListenerConfig) (f files, auth tls.ClientAuthType, err error) {
	auth, chosen, err := clientAuth(l.ClientAuth, c.ClientAuth)
	f = files{certificate: prefer("certificate", l.Certificate, c.Certificate), clientCA: prefer("client_ca", l.ClientCA, c.ClientCA)}
	if l.Certificate != "" {
		f.key = choice{"key", l.Key} // the section's key is that of the section's certificate
	} else {
		f.key = prefer("key", l.Key, c.Key)
	}
	switch {
	case err == nil && auth == tls.NoClientCert:
		f.clientCA = choice{} // nobody is asked
	case f.clientCA.value == "" && err == nil:
		err = fmt.Errorf("%s: %s needs the authorities of clients' certificates; set tls.client_ca to a PEM file with theirs", chosen.key, chosen.value)
	}
	if f.certificate.value == "" {
		err = errors.Join(err, errors.New("tls.certificate: is not set; a listener with TLS needs a certificate; set it to a PEM file"))
	}
	return f, auth, err
}

// Expires reads the files of a listener and returns when its certificate ends, or
// one of its chain that ends earlier. The error has a line for each key that is
// wrong.
func (c Config) Expires(l server.ListenerConfig) (certificate string, ends time.Time, err error) {
	f, _, err := c.of(l)
	content, unread := f.read()
	if err = errors.Join(err, unread); err != nil {
		return f.certificate.value, ends, err
	}
	m, err := f.parse(content, time.Now())
	if err != nil {
		return f.certificate.value, ends, err
	}
	return f.certificate.value, m.ends, nil
}
