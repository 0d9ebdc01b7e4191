package quotas

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/core/security"
)

// DescribeQuotas implements security.QuotaList. The maps of the entries are shared:
// read only.
func (q *Quotas) DescribeQuotas(_ context.Context, filters []security.QuotaFilter, strict bool) ([]security.QuotaEntry, error) {
	var chosen []security.QuotaEntry
	q.mu.RLock()
	for _, e := range q.list {
		if matches(e.Entity, filters, strict) {
			chosen = append(chosen, e)
		}
	}
	q.mu.RUnlock()
	slices.SortFunc(chosen, func(a, b security.QuotaEntry) int { return compare(a.Entity, b.Entity) })
	return chosen, nil
}

// matches reports whether an entity has all the types of the filters.
func matches(e security.QuotaEntity, filters []security.QuotaFilter, strict bool) bool {
	if strict && len(e) != len(filters) {
		return false
	}
	for _, f := range filters {
		value, has := e[f.Type]
		if !has || !f.Any && !same(value, f.Value) {
			return false
		}
	}
	return true
}

func same(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// compare orders entities: by their types, then by their values, defaults first.
func compare(a, b security.QuotaEntity) int {
	kinds := slices.Sorted(maps.Keys(a))
	if c := slices.Compare(kinds, slices.Sorted(maps.Keys(b))); c != 0 {
		return c
	}
	for _, kind := range kinds {
		switch x, y := a[kind], b[kind]; {
		case x == nil && y == nil:
		case x == nil:
			return -1
		case y == nil:
			return 1
		default:
			if c := strings.Compare(*x, *y); c != 0 {
				return c
			}
		}
	}
	return cmp.Compare(len(a), len(b))
}

// AlterQuotas implements security.QuotaList. Changes that are right are made in one
// step, those of one entity in their order. One that would make an entity more than
// there may be is refused. After an error that leaves open what was stored, that is in
// force as soon as it is known.
func (q *Quotas) AlterQuotas(ctx context.Context, changes []security.QuotaChange, validateOnly bool) []error {
	errs := make([]error, len(changes))
	q.changing.Lock()
	defer q.changing.Unlock()
	list := maps.Clone(q.list)
	if list == nil {
		list = map[string]security.QuotaEntry{}
	}
	stored := map[string][]byte{}
	for i, c := range changes {
		if errs[i] = Check(c); errs[i] != nil {
			continue
		}
		name := nameOf(c.Entity)
		before := list[name]
		after := changed(before, c)
		switch {
		case maps.Equal(before.Values, after.Values):
		case len(after.Values) == 0:
			delete(list, name)
			stored[name] = nil
		case len(before.Values) == 0 && q.config.MaxQuotas > 0 && len(list) >= q.config.MaxQuotas:
			errs[i] = security.Refuse(kerr.PolicyViolation, "There are quotas of %d entities; quotas.max_quotas is %d.", len(list), q.config.MaxQuotas)
		default:
			list[name], stored[name] = after, mustJSON(after.Values)
		}
	}
	if validateOnly || len(stored) == 0 {
		return errs
	}
	if err := q.entries.ChangeEntries(ctx, kind, stored); err != nil {
		q.outcomes.Ended(err)
		for i := range errs {
			if errs[i] == nil {
				errs[i] = fmt.Errorf("store the quotas: %w", err)
			}
		}
		return errs
	}
	q.publish(list)
	return errs
}

// changed returns an entry after a change.
func changed(e security.QuotaEntry, c security.QuotaChange) security.QuotaEntry {
	after := security.QuotaEntry{Entity: maps.Clone(c.Entity), Values: maps.Clone(e.Values)}
	if after.Values == nil {
		after.Values = security.QuotaValues{}
	}
	for key, value := range c.Values {
		if value == nil {
			delete(after.Values, key)
		} else {
			after.Values[key] = *value
		}
	}
	return after
}
