package oauthbearer

import (
	"errors"
	"regexp"
	"strings"
)

// What is wrong with a message; nothing of the message itself, which may hold a
// token that is good.
var (
	errMessage   = errors.New("the message is not one of OAUTHBEARER")
	errBinding   = errors.New("the client asks for channel binding, which there is none of")
	errScheme    = errors.New("the scheme of the token is not Bearer")
	errExtension = errors.New("an extension is not name=value of letters and printable characters")
)

// The parts of a message, as Kafka takes them.
var (
	tokenText     = regexp.MustCompile(`^[-_.a-zA-Z0-9]+$`)
	extensionText = regexp.MustCompile(`^[a-zA-Z]+=[\x21-\x7E \t\r\n]+$`)
)

// separator stands between the parts of a message, and twice at its end.
const separator = "\x01"

// parse reads a client's message (RFC 7628 §3.1):
//
//	n,[a=authzid],\x01auth=Bearer token\x01[name=value\x01]...\x01
func parse(message string) (as, token string, err error) {
	header, rest, found := strings.Cut(message, separator)
	if !found {
		return "", "", errMessage
	}
	if as, err = parseHeader(header); err != nil {
		return "", "", err
	}
	rest, found = strings.CutSuffix(rest, separator+separator)
	if !found {
		return "", "", errMessage
	}
	pairs := strings.Split(rest, separator)
	credentials, found := strings.CutPrefix(pairs[0], "auth=")
	if !found {
		return "", "", errMessage
	}
	scheme, token, _ := strings.Cut(credentials, " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case !strings.EqualFold(scheme, "bearer"):
		return "", "", errScheme
	case !tokenText.MatchString(token):
		return "", "", errMessage
	}
	for _, pair := range pairs[1:] {
		// "auth" again would let two readers see two tokens (RFC 7628 §3.1).
		if !extensionText.MatchString(pair) || strings.HasPrefix(pair, "auth=") {
			return "", "", errExtension
		}
	}
	return as, token, nil
}

// parseHeader reads the part about channel binding and the authorization id (RFC 5801
// §4): "n,," or "n,a=alice,".
func parseHeader(header string) (as string, err error) {
	fields := strings.Split(header, ",")
	switch {
	case len(fields) != 3 || fields[2] != "":
		return "", errMessage
	case fields[0] == "y", strings.HasPrefix(fields[0], "p="):
		return "", errBinding
	case fields[0] != "n":
		return "", errMessage
	case fields[1] == "":
		return "", nil
	}
	name, found := strings.CutPrefix(fields[1], "a=")
	plain := strings.NewReplacer("=2C", "", "=3D", "").Replace(name)
	if !found || name == "" || strings.Contains(plain, "=") {
		return "", errMessage
	}
	return strings.NewReplacer("=2C", ",", "=3D", "=").Replace(name), nil
}
