package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// properties are a file of Java properties.
type properties map[string]string

// readProperties reads what a client.properties of Kafka says of security. Other
// keys are left alone, as Kafka's tools do.
func readProperties(name string) (s settled, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return s, errors.New("cannot be read")
	}
	p := parseProperties(string(content))
	protocol := strings.ToUpper(cmp.Or(p["security.protocol"], "PLAINTEXT"))
	switch protocol {
	case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return s, fmt.Errorf("security.protocol: %q is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", protocol)
	}
	if strings.HasSuffix(protocol, "SSL") {
		if s.tls, err = p.tls(); err != nil {
			return s, err
		}
	}
	if strings.HasPrefix(protocol, "SASL") {
		err = p.login(&s)
	}
	return s, err
}

// tls is what the keys ssl.* say.
func (p properties) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	authorities, err := p.pem("ssl.truststore")
	if err != nil {
		return nil, err
	}
	if authorities != "" {
		if c.RootCAs, err = pool([]byte(authorities)); err != nil {
			return nil, fmt.Errorf("ssl.truststore %w", err)
		}
	}
	own, err := p.pem("ssl.keystore")
	if err != nil {
		return nil, err
	}
	if chain, key := p["ssl.keystore.certificate.chain"], p["ssl.keystore.key"]; chain != "" && key != "" {
		own = chain + "\n" + key
	}
	if own != "" {
		if p["ssl.key.password"] != "" {
			return nil, errors.New("ssl.key.password: encrypted keys are not read here; use one that is not, and guard its file")
		}
		pair, err := tls.X509KeyPair([]byte(own), []byte(own))
		if err != nil {
			return nil, fmt.Errorf("ssl.keystore: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if check, set := p["ssl.endpoint.identification.algorithm"]; set && check == "" {
		withoutNames(c)
	}
	return c, nil
}

// pem returns the content of a store of type PEM, "" where there is none.
func (p properties) pem(store string) (string, error) {
	location, inline := p[store+".location"], p[store+".certificates"]
	if location == "" && inline == "" && p[store+".certificate.chain"] == "" {
		return "", nil
	}
	if kind := cmp.Or(p[store+".type"], "JKS"); !strings.EqualFold(kind, "PEM") {
		return "", fmt.Errorf("%s.type: stores of type %s are not read here, only PEM (keytool and openssl convert them)", store, kind)
	}
	if location == "" {
		return inline, nil
	}
	content, err := os.ReadFile(location)
	if err != nil {
		return "", fmt.Errorf("%s.location: %w", store, err)
	}
	return string(content), nil
}

// withoutNames looks at who signed a certificate, and not at the host that it is
// for: what an empty ssl.endpoint.identification.algorithm asks for.
func withoutNames(c *tls.Config) {
	roots := c.RootCAs
	c.InsecureSkipVerify = true // #nosec G402 -- VerifyConnection does all of it but the name, as the properties ask
	c.VerifyConnection = func(state tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, between := range state.PeerCertificates[1:] {
			opts.Intermediates.AddCert(between)
		}
		_, err := state.PeerCertificates[0].Verify(opts)
		return err
	}
}

// jaasOption is one name="value" of sasl.jaas.config.
var jaasOption = regexp.MustCompile(`([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))`)

// login is what the keys sasl.* say.
func (p properties) login(s *settled) (err error) {
	mechanism := cmp.Or(p["sasl.mechanism"], "GSSAPI")
	module, rest, _ := strings.Cut(strings.TrimSpace(p["sasl.jaas.config"]), " ")
	options := map[string]string{}
	for _, found := range jaasOption.FindAllStringSubmatch(rest, -1) {
		quoted := cmp.Or(found[2], found[3])
		options[found[1]] = cmp.Or(jaasEscape.ReplaceAllString(quoted, "$1"), found[4])
	}
	known := strings.HasSuffix(module, ".PlainLoginModule") || strings.HasSuffix(module, ".ScramLoginModule")
	switch {
	case mechanism == "GSSAPI" || mechanism == mechanismOAuth:
		return fmt.Errorf("sasl.mechanism: %s is not read from properties here", mechanism)
	case !known:
		return errors.New("sasl.jaas.config: needs PlainLoginModule or ScramLoginModule")
	case options["username"] == "" || options["password"] == "":
		return errors.New("sasl.jaas.config: needs a username and a password")
	}
	if s.login, err = byPassword(mechanism, options["username"], options["password"]); err != nil {
		return fmt.Errorf("sasl.mechanism: %w", err)
	}
	s.user = options["username"]
	return nil
}

var jaasEscape = regexp.MustCompile(`\\(.)`)

// parseProperties reads the format of java.util.Properties.
func parseProperties(text string) properties {
	p := properties{}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := cutProperty(line)
		p[unescapeProperty(key)] = unescapeProperty(value)
	}
	return p
}

// continues tells whether a line ends with a backslash that is no escaped one.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// cutProperty splits a line at its first =, : or blank that is not escaped.
func cutProperty(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return line[:end], value
}

func unescapeProperty(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if code, err := strconv.ParseUint(s[i+1:min(i+5, len(s))], 16, 16); err == nil && i+5 <= len(s) {
				b.WriteRune(rune(code))
				i += 4
				continue
			}
			b.WriteByte('u')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
