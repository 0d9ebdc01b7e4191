package audit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
)

// maxText bounds what a line says of one thing that a client chose, in bytes.
const maxText = 256

// text is a field with what a client chose.
func text(name, value string) zap.Field { return zap.String(name, plain(value)) }

// plain cuts a text and escapes what is not printable, so that it can neither fill
// the disk nor look like something else.
func plain(s string) string {
	cut := len(s) > maxText
	if cut {
		s = s[:maxText]
		for len(s) > maxText-utf8.UTFMax {
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
				break
			}
			s = s[:len(s)-1] // a part of a character
		}
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}
