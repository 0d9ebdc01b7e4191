package topicconfig

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Catalog knows the topic configs of Kafka 4.4 and the defaults of this
// gateway. It is immutable and safe for concurrent use.
type Catalog struct {
	defs   []Definition // sorted by name
	byName map[string]*Definition
	// Of a topic without overrides.
	plain   Config
	entries []Entry
}

// NewCatalog returns the catalog in which the given values, by topic config
// name, stand in for Kafka's defaults. All faults are reported at once: names
// that do not exist, values that Kafka would refuse.
func NewCatalog(defaults map[string]string) (*Catalog, error) {
	c := &Catalog{defs: kafka44()}
	c.byName = make(map[string]*Definition, len(c.defs))
	for i := range c.defs {
		c.byName[c.defs[i].Name] = &c.defs[i]
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if err := c.Validate(name, defaults[name]); err != nil {
			faults = append(faults, err)
			continue
		}
		d := c.byName[name]
		d.Default, d.Set = defaults[name], true
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("defaults of topic configs: %w", err)
	}
	c.plain, c.entries = c.resolve(nil), plainEntries(c.defs)
	return c, nil
}

// Definitions returns all configs, sorted by name. The slice is the caller's.
func (c *Catalog) Definitions() []Definition { return slices.Clone(c.defs) }

// Lookup returns the definition of a config.
func (c *Catalog) Lookup(name string) (Definition, bool) {
	d, ok := c.byName[name]
	if !ok {
		return Definition{}, false
	}
	return *d, true
}

// Validate checks the value of one config by type and range. An error is an
// [Error].
func (c *Catalog) Validate(name, value string) error {
	d, ok := c.byName[name]
	if !ok {
		return Error("Unknown topic config name: " + name)
	}
	v, err := d.parse(value)
	if err != nil || d.check == nil {
		return err
	}
	reason, culprit := d.check(name, v)
	switch {
	case reason == "":
		return nil
	case reason == emptyItem:
		return Error(fmt.Sprintf("Configuration '%s' %s", name, reason))
	case d.Type == double:
		culprit = trim(value) // as it was written: "1.1", "Infinity"
	}
	return invalid(name, culprit, reason)
}

// MaxValue is the longest value of a config, in bytes. Kafka counts UTF-16 units, but
// nothing longer can be told to clients: the length of a string takes 16 bits in older
// versions of DescribeConfigs. As a topic can have each config of [Catalog.Definitions]
// once and no others, it bounds all of them together, to some 1.2 MB.
const MaxValue = math.MaxInt16

// errTooLong is the text that Kafka 4.4 has for lists that an append made too long; a
// longer value in a request never reaches its controller, and the connection is closed.
var errTooLong = Error(fmt.Sprintf("The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", MaxValue))

// ValidateAll checks all overrides of a topic, each by itself and against the
// others. Of several faults it returns the one whose config sorts first. An
// error is an [Error].
func (c *Catalog) ValidateAll(overrides map[string]string) error {
	names := slices.Sorted(maps.Keys(overrides))
	for _, name := range names { // before the names, as in Kafka
		if len(overrides[name]) > MaxValue {
			return errTooLong
		}
	}
	// Unknown names come first, as Kafka checks them before it parses.
	for _, name := range names {
		if _, ok := c.byName[name]; !ok {
			return c.Validate(name, "")
		}
	}
	for _, name := range names {
		if err := c.Validate(name, overrides[name]); err != nil {
			return err
		}
	}
	least, most := c.number(overrides, minCompactionLag), c.number(overrides, maxCompactionLag)
	if least > most {
		return Error(fmt.Sprintf("conflict topic config setting %s (%d) > %s (%d)",
			minCompactionLag, least, maxCompactionLag, most))
	}
	if c.value(overrides, remoteStorageEnable) == true {
		return Error("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// Resolve returns the effective values for a topic with the given overrides.
// An override that Validate refuses counts as not given.
func (c *Catalog) Resolve(overrides map[string]string) Config {
	if len(overrides) == 0 {
		return c.plain
	}
	return c.resolve(overrides)
}

func (c *Catalog) resolve(overrides map[string]string) Config {
	policy, _ := c.value(overrides, cleanupPolicy).([]string)
	stamp, _ := c.value(overrides, "message.timestamp.type").(string)
	ratio, _ := c.value(overrides, "min.cleanable.dirty.ratio").(float64)
	return Config{
		Delete:               slices.Contains(policy, "delete"),
		Compact:              slices.Contains(policy, "compact"),
		RetentionMs:          c.number(overrides, "retention.ms"),
		RetentionBytes:       max(c.number(overrides, "retention.bytes"), -1),
		MaxMessageBytes:      int32(c.number(overrides, MaxMessageBytes)),
		MaxDecompressedBytes: int32(c.number(overrides, "max.decompressed.message.bytes")),
		LogAppendTime:        stamp == "LogAppendTime",
		TimestampAfterMaxMs:  c.number(overrides, "message.timestamp.after.max.ms"),
		TimestampBeforeMaxMs: c.number(overrides, "message.timestamp.before.max.ms"),
		SegmentBytes:         c.number(overrides, "segment.bytes"),
		SegmentMs:            c.number(overrides, "segment.ms"),
		DeleteRetentionMs:    c.number(overrides, "delete.retention.ms"),
		MinCompactionLagMs:   c.number(overrides, minCompactionLag),
		MaxCompactionLagMs:   c.number(overrides, maxCompactionLag),
		MinCleanableRatio:    ratio,
	}
}

// value returns the parsed value of a config: the override's, or the default.
func (c *Catalog) value(overrides map[string]string, name string) any {
	d := c.byName[name]
	if s, ok := overrides[name]; ok && c.Validate(name, s) == nil {
		v, _ := d.parse(s)
		return v
	}
	v, _ := d.parse(d.Default)
	return v
}

func (c *Catalog) number(overrides map[string]string, name string) int64 {
	n, _ := c.value(overrides, name).(int64)
	return n
}
