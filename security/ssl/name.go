package ssl

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// keywords are the attribute types that RFC 2253 has names for (its section 2.3,
// with UID and STREET of its table). Java names no other.
var keywords = map[string]string{
	"2.5.4.3":                    "CN",
	"2.5.4.7":                    "L",
	"2.5.4.8":                    "ST",
	"2.5.4.10":                   "O",
	"2.5.4.11":                   "OU",
	"2.5.4.6":                    "C",
	"2.5.4.9":                    "STREET",
	"0.9.2342.19200300.100.1.25": "DC",
	"0.9.2342.19200300.100.1.1":  "UID",
}

// NameOf returns the name of a certificate's owner as the default mapping rule makes a
// principal of it.
func NameOf(certificate *x509.Certificate) (string, error) {
	return distinguishedName(certificate.RawSubject)
}

// attribute is one "CN=name" of a name.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// relativeSET holds several attributes only where they are joined by "+". The end
// of its name tells asn1 that it is a SET.
type relativeSET []attribute

// distinguishedName writes the DER of a certificate's subject as Java's
// X500Principal.getName() does, which is what Kafka gives to its mapping rules and,
// without any, takes for the principal's name.
func distinguishedName(subject []byte) (string, error) {
	var parts []relativeSET
	rest, err := asn1.Unmarshal(subject, &parts)
	if err != nil || len(rest) > 0 {
		return "", fmt.Errorf("the subject of the certificate cannot be read: %w", err)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- { // the last one comes first
		for j, a := range parts[i] {
			if j > 0 {
				b.WriteByte('+')
			}
			a.write(&b)
		}
		if i > 0 {
			b.WriteByte(',')
		}
	}
	return b.String(), nil
}

func (a attribute) write(b *strings.Builder) {
	word, known := keywords[a.Type.String()]
	if !known {
		word = a.Type.String()
	}
	b.WriteString(word)
	b.WriteByte('=')
	if !known || !isText(a.Value) {
		b.WriteByte('#')
		b.WriteString(hex.EncodeToString(a.Value.FullBytes))
		return
	}
	writeEscaped(b, asUTF8(a.Value.Bytes))
}

// isText tells whether Java takes a value for a text. All are read as if they
// were UTF-8.
func isText(v asn1.RawValue) bool {
	switch v.Tag {
	case asn1.TagPrintableString, asn1.TagUTF8String, asn1.TagT61String, asn1.TagIA5String,
		asn1.TagGeneralString, asn1.TagBMPString:
		return v.Class == asn1.ClassUniversal
	}
	return false
}

// asUTF8 replaces what is no UTF-8, as Java's decoder does.
func asUTF8(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	return string([]rune(string(raw)))
}

// escaped are the characters that Java puts a backslash before, wherever they
// stand.
const escaped = `,=+<>#;"\`

// writeEscaped writes a value. Blanks and carriage returns at its ends are escaped
// one by one.
func writeEscaped(b *strings.Builder, value string) {
	blank := func(r rune) bool { return r == ' ' || r == '\r' }
	inner := strings.TrimFunc(value, blank)
	lead := len(value) - len(strings.TrimLeftFunc(value, blank))
	if inner == "" {
		lead = 0 // all of it is at the end
	}
	for i, r := range value {
		switch {
		case r == 0:
			b.WriteString(`\00`)
			continue
		case i < lead || i >= lead+len(inner) || strings.ContainsRune(escaped, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
}
