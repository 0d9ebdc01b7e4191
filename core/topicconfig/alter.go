package topicconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Change is one step of an IncrementalAlterConfigs (KIP-339).
type Change struct {
	Name string
	Op   kmsg.IncrementalAlterConfigOp
	// Value is ignored by a delete.
	Value string
}

// Apply returns the overrides after the changes, which are applied in order to
// a copy; present stays as it is. It is all or nothing: an [Error] says what
// was refused. A key that is deleted need not exist. Append and subtract work
// on list configs, starting from the override or, without one, the default.
func (c *Catalog) Apply(present map[string]string, changes []Change) (map[string]string, error) {
	after := maps.Clone(present)
	if after == nil {
		after = map[string]string{}
	}
	for _, ch := range changes {
		switch ch.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			after[ch.Name] = ch.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(after, ch.Name)
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			d, ok := c.byName[ch.Name]
			if !ok || d.Type != list {
				return nil, Error(fmt.Sprintf("Can't %s to key %s because its type is not LIST.", ch.Op, ch.Name))
			}
			value, ok := after[ch.Name]
			if !ok {
				value = d.Default
			}
			after[ch.Name] = alterList(value, ch)
		}
	}
	if err := c.ValidateAll(after); err != nil {
		return nil, err
	}
	return after, nil
}

// alterList adds the items that are missing, or takes each item out once. Lists
// can be as long as a frame, so the time is linear.
func alterList(value string, ch Change) string {
	items, given := splitList(value), splitList(ch.Value)
	if ch.Op == kmsg.IncrementalAlterConfigOpAppend {
		present := make(map[string]bool, len(items))
		for _, item := range items {
			present[item] = true
		}
		for _, item := range given {
			if !present[item] {
				present[item] = true
				items = append(items, item)
			}
		}
		return strings.Join(items, ",")
	}
	remove := make(map[string]int, len(given))
	for _, item := range given {
		remove[item]++
	}
	items = slices.DeleteFunc(items, func(item string) bool {
		remove[item]--
		return remove[item] >= 0
	})
	return strings.Join(items, ",")
}
