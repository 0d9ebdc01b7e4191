package security

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Refusal is an error that is told to a client: Kafka's code, and a text.
type Refusal struct {
	Code *kerr.Error
	Text string
}

// Refuse returns a Refusal.
func Refuse(code *kerr.Error, format string, args ...any) *Refusal {
	return &Refusal{code, Text(format, args...)}
}

// MaxText is how long the text of a refusal may be, in bytes. Texts quote what clients
// sent, and strings on the wire have 32767 bytes at most where their length takes 16 bits.
const MaxText = 4 << 10

// Text formats the text of a refusal. A longer one is cut, at a character.
func Text(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if len(text) <= MaxText {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:MaxText-len(more)], "") + more
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap returns the code.
func (r *Refusal) Unwrap() error { return r.Code }

// Refused returns the code and the text of an error that is told to a client as it
// is: a Refusal, or a code of Kafka's alone.
func Refused(err error) (code int16, text string, ok bool) {
	var refusal *Refusal
	var kafka *kerr.Error
	switch {
	case errors.As(err, &refusal):
		return refusal.Code.Code, refusal.Text, true
	case errors.As(err, &kafka):
		return kafka.Code, kafka.Description, true
	}
	return 0, "", false
}
