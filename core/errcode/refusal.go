package errcode

import "github.com/iggykafka/gateway/core/security"

// Refusal is the code, and the text for the client, of an error of what core/security
// describes: those that are for clients as they are, others as Topics has them and
// without a text. 0 and nil for nil.
func Refusal(err error) (code int16, message *string) {
	if code, text, ok := security.Refused(err); ok {
		return code, &text
	}
	return Topics(err), nil
}
