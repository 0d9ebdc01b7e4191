package quotas

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/iggykafka/gateway/core/security"
)

// kind is the kind of the backend's entries: one for each entity, whose name is the
// entity and whose value are the quotas, both as JSON objects. JSON writes maps in
// the order of their keys, so an entity has one name.
const kind = "quota"

// nameOf returns the name of an entity's entry.
func nameOf(e security.QuotaEntity) string { return string(mustJSON(e)) }

// mustJSON writes what cannot fail to be written: maps of texts and finite numbers.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("write %v as JSON: %v", v, err))
	}
	return text
}

// decode reads a stored entry.
func decode(name string, value []byte) (security.QuotaEntry, error) {
	var e security.QuotaEntry
	if err := json.Unmarshal([]byte(name), &e.Entity); err != nil {
		return e, fmt.Errorf("the stored quota %q has no entity: %w", name, err)
	}
	if err := json.Unmarshal(value, &e.Values); err != nil {
		return e, fmt.Errorf("the stored quota %q cannot be read: %w", name, err)
	}
	for key, v := range e.Values {
		if !(v > 0) || math.IsInf(v, 1) {
			return e, fmt.Errorf("the stored quota %q has %s=%v", name, key, v)
		}
	}
	return e, nil
}
