package topicconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Error says why a config or its value is refused, in Kafka's words. Every
// error about a client's configs that this package returns is one.
type Error string

func (e Error) Error() string { return string(e) }

// invalid is the refusal of a value.
func invalid(name string, value any, reason string) error {
	return Error(fmt.Sprintf("Invalid value %v for configuration %s: %s", value, name, reason))
}

// check looks at a parsed value: a bool, string, int64, float64 or []string.
// It returns the reason for a refusal and the part of the value it is about,
// or "".
type check func(name string, value any) (reason string, culprit any)

// parse turns the text of a value into a bool, string, int64, float64 or
// []string, as Kafka's ConfigDef does: blanks around it do not count.
func (d *Definition) parse(value string) (any, error) {
	v := trim(value)
	switch d.Type {
	case boolean:
		switch {
		case strings.EqualFold(v, "true"):
			return true, nil
		case strings.EqualFold(v, "false"):
			return false, nil
		}
		return nil, invalid(d.Name, value, "Expected value to be either true or false")
	case int32s:
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return nil, invalid(d.Name, value, "Not a number of type INT")
		}
		return n, nil
	case int64s:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, invalid(d.Name, value, "Not a number of type LONG")
		}
		return n, nil
	case double:
		n, err := strconv.ParseFloat(strings.TrimRight(v, "fFdD"), 64)
		if err != nil || strings.Contains(v, "_") {
			return nil, invalid(d.Name, value, "Not a number of type DOUBLE")
		}
		return n, nil
	case list:
		return splitList(v), nil
	}
	return v, nil
}

// splitList splits a list value; an empty one has no items.
func splitList(value string) []string {
	if value = trim(value); value == "" {
		return nil
	}
	items := strings.Split(value, ",")
	for i := range items {
		items[i] = trim(items[i])
	}
	return items
}

// trim removes what Java's String.trim does: everything up to the blank.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

func atLeast(low int64) check {
	return func(_ string, value any) (string, any) {
		if value.(int64) < low {
			return fmt.Sprintf("Value must be at least %d", low), value
		}
		return "", nil
	}
}

func between(low, high int64) check {
	return func(_ string, value any) (string, any) {
		var below, above bool
		switch n := value.(type) {
		case int64:
			below, above = n < low, n > high
		case float64:
			below, above = n < float64(low), n > float64(high)
		}
		switch {
		case below:
			return fmt.Sprintf("Value must be at least %d", low), value
		case above:
			return fmt.Sprintf("Value must be no more than %d", high), value
		}
		return "", nil
	}
}

func gzipLevel(_ string, value any) (string, any) {
	if n := value.(int64); n != -1 && (n < 1 || n > 9) {
		return "Value must be between 1 and 9 or equal to -1", value
	}
	return "", nil
}

func oneOf(names ...string) check {
	return func(_ string, value any) (string, any) {
		if !slices.Contains(names, value.(string)) {
			return "String must be one of: " + strings.Join(names, ", "), value
		}
		return "", nil
	}
}

// subsetOf allows a list of the given names; repeats do not count (KIP-1161).
func subsetOf(names ...string) check {
	one := oneOf(names...)
	return func(name string, value any) (string, any) {
		for _, item := range value.([]string) {
			if item == "" {
				return emptyItem, nil
			}
		}
		for _, item := range value.([]string) {
			if reason, culprit := one(name, item); reason != "" {
				return reason, culprit
			}
		}
		return "", nil
	}
}

// emptyItem is refused with a sentence of its own.
const emptyItem = "values must not be empty."

var replicaPair = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

func throttledReplicas(name string, value any) (string, any) {
	items := value.([]string)
	if len(items) == 1 && items[0] == "*" {
		return "", nil
	}
	for _, item := range items {
		if !replicaPair.MatchString(item) {
			return name + " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
				"[" + strings.Join(items, ", ") + "]"
		}
	}
	return "", nil
}
