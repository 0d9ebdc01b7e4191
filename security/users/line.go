package users

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/iggykafka/gateway/core/security"
)

// id is which credential: every user may have one of each mechanism.
type id struct {
	user      string
	mechanism int8
}

// FormatLine returns the line of the users file for a credential.
func FormatLine(user string, mechanism int8, c security.ScramCredential) string {
	return user + ":" + format(mechanism, c)
}

// CheckName reports why a user of this name cannot be written to a users file.
func CheckName(user string) error {
	switch {
	case user == "":
		return errors.New("the name is empty")
	case strings.HasPrefix(user, "#"), strings.HasPrefix(user, "\ufeff"), strings.TrimSpace(user) != user, strings.ContainsAny(user, "\r\n\x00"):
		return errors.New("the name begins with #, begins or ends with a space, or has line breaks")
	}
	return nil
}

func format(mechanism int8, c security.ScramCredential) string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", security.ScramName(mechanism), c.Iterations,
		encode(c.Salt), encode(c.StoredKey), encode(c.ServerKey))
}

var errFormat = errors.New("is not name:MECHANISM$iterations:salt$storedkey:serverkey")

// parseLine reads a line of the users file. No error has anything of the line.
func parseLine(line string) (id, security.ScramCredential, error) {
	// The name may hold colons, what follows it has no "-" after its mechanism.
	at := strings.LastIndex(line, ":SCRAM-SHA-")
	if at < 0 {
		return id{}, security.ScramCredential{}, errFormat
	}
	name := line[:at]
	if err := CheckName(name); err != nil {
		return id{}, security.ScramCredential{}, fmt.Errorf("has a name that cannot be: %w", err)
	}
	mechanism, c, err := parse(line[at+1:])
	return id{name, mechanism}, c, err
}

// parse reads a credential. No error has anything of it.
func parse(text string) (mechanism int8, c security.ScramCredential, err error) {
	name, rest, _ := strings.Cut(text, "$")
	for _, m := range security.ScramMechanisms {
		if name == security.ScramName(m) {
			mechanism = m
		}
	}
	if mechanism == 0 {
		return 0, c, errors.New("has no mechanism that is known: SCRAM-SHA-256 or SCRAM-SHA-512")
	}
	factors, keys, found := strings.Cut(rest, "$")
	iterations, salt, found1 := strings.Cut(factors, ":")
	stored, server, found2 := strings.Cut(keys, ":")
	if !found || !found1 || !found2 {
		return 0, c, errFormat
	}
	n, err := strconv.ParseInt(iterations, 10, 32)
	if err != nil || n < security.MinScramIterations || n > security.MaxScramIterations {
		return 0, c, fmt.Errorf("has iterations that are not a number from %d to %d",
			security.MinScramIterations, security.MaxScramIterations)
	}
	c.Iterations = int32(n)
	length := security.ScramHash(mechanism)().Size()
	for _, part := range []struct {
		to          *[]byte
		name, text  string
		least, most int
	}{
		{&c.Salt, "salt", salt, 0, security.MaxScramSalt},
		{&c.StoredKey, "stored key", stored, length, length},
		{&c.ServerKey, "server key", server, length, length},
	} {
		raw, err := base64.StdEncoding.DecodeString(part.text)
		if err != nil {
			return 0, security.ScramCredential{}, fmt.Errorf("has a %s that is not base64", part.name)
		}
		if len(raw) < part.least || len(raw) > part.most {
			return 0, security.ScramCredential{}, fmt.Errorf("has a %s of the wrong length", part.name)
		}
		*part.to = raw
	}
	return mechanism, c, nil
}
