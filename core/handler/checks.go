package handler

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ChecksHeader heads the columns of [Check.Row].
var ChecksHeader = []string{"operation", "on", "refusal", "when"}

// AsksOperations is the check of a handler that fills in authorized operations
// with [Call.Operations]: every operation is asked for, and no refusal is told.
func AsksOperations(on kmsg.ACLResourceType, of string) Check {
	return Check{Operation: kmsg.ACLOperationAny, Resource: on, Of: of, When: "authorized operations are asked for"}
}

// Row describes the check in the columns of ChecksHeader: "WRITE", "topic: each
// topic", "TOPIC_AUTHORIZATION_FAILED (29)", "always".
func (c Check) Row() []string {
	on := strings.ToLower(strings.ReplaceAll(c.Resource.String(), "_", " "))
	if c.Any {
		on = "any " + on
	}
	if c.Of != "" {
		on += ": " + c.Of
	}
	operation, refusal, when := c.Operation.String(), "left out", c.When
	if c.Operation == kmsg.ACLOperationAny {
		operation = "each operation"
	}
	if c.Code != 0 {
		refusal = fmt.Sprintf("%s (%d)", kerr.TypedErrorForCode(c.Code).Message, c.Code)
	}
	if when == "" {
		when = "always"
	}
	return []string{operation, on, refusal, when}
}
