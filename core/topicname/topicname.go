//lint:file-ignore ST1005 the texts are Kafka's own, and go to clients

// Package topicname holds the rules for the names of topics.
package topicname

import (
	"errors"
	"fmt"
	"strings"
)

// MaxLength is the longest name, in bytes.
const MaxLength = 249

// Check reports why no topic can have the name, in Kafka's words: a name is 1
// to 249 bytes of [A-Za-z0-9._-], and neither "." nor "..".
func Check(name string) error {
	switch {
	case name == "":
		return errors.New("Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return fmt.Errorf("Topic name is invalid: '%s' is not allowed", name)
	case len(name) > MaxLength:
		return fmt.Errorf("Topic name is invalid: the length of '%s' is longer than the max allowed length %d", name, MaxLength)
	}
	for i := range len(name) {
		if !legal(name[i]) {
			return fmt.Errorf("Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

func legal(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// Key returns the name with every dot read as an underscore. Metric names do
// not tell the two apart, so Kafka refuses a new topic whose key another topic
// has.
func Key(name string) string { return strings.ReplaceAll(name, ".", "_") }

// CanCollide reports whether the name has a character that Key does not tell
// apart from another.
func CanCollide(name string) bool { return strings.ContainsAny(name, "._") }
