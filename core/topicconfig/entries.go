package topicconfig

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Entry is one config of a topic as DescribeConfigs and CreateTopics show it.
type Entry struct {
	Name  string
	Value string
	Type  kmsg.ConfigType
	// Source is where the value comes from: the topic, the gateway's
	// configuration, or Kafka's default.
	Source kmsg.ConfigSource
	// Synonyms lists what else would give the value, the strongest first
	// (KIP-226).
	Synonyms []Synonym
	// Documentation is one sentence.
	Documentation string
}

// Synonym is one config that gives, or would give, the value of another.
type Synonym struct {
	Name   string
	Value  string
	Source kmsg.ConfigSource
}

// Entries returns all configs of a topic with the given overrides, sorted by
// name. Values are shown as Kafka shows them: " 7 " as "7", "TRUE" as "true".
// The slice is the caller's; the synonyms in it are shared: read only.
func (c *Catalog) Entries(overrides map[string]string) []Entry {
	entries := slices.Clone(c.entries)
	for i := range entries {
		e := &entries[i]
		value, ok := overrides[e.Name]
		if !ok {
			continue
		}
		e.Value = c.defs[i].canonical(value)
		e.Source = kmsg.ConfigSourceDynamicTopicConfig
		own := Synonym{e.Name, e.Value, e.Source}
		e.Synonyms = append([]Synonym{own}, e.Synonyms...)
	}
	return entries
}

// plainEntries returns the entries of a topic without overrides.
func plainEntries(defs []Definition) []Entry {
	entries := make([]Entry, len(defs))
	for i := range defs {
		d := &defs[i]
		e := Entry{
			Name: d.Name, Value: d.canonical(d.Default), Type: d.Type,
			Source: kmsg.ConfigSourceDefaultConfig, Documentation: d.Documentation,
		}
		if d.Set {
			e.Source = kmsg.ConfigSourceStaticBrokerConfig
			if d.Broker != "" {
				e.Synonyms = append(e.Synonyms, Synonym{d.Broker, e.Value, e.Source})
			}
		}
		if d.BrokerDefault {
			e.Synonyms = append(e.Synonyms, Synonym{d.Broker, d.KafkaDefault, kmsg.ConfigSourceDefaultConfig})
		}
		entries[i] = e
	}
	return entries
}

// canonical returns the value as Kafka writes it after it has parsed it. A
// value that does not parse stays as it is.
func (d *Definition) canonical(value string) string {
	parsed, err := d.parse(value)
	if err != nil {
		return value
	}
	switch v := parsed.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e7 { // Java keeps one decimal
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []string:
		if d.Name == cleanupPolicy {
			v = distinct(v)
		}
		return strings.Join(v, ",")
	case string:
		return v
	}
	return value
}

// distinct returns the items without repeats, in the order of their first.
func distinct(items []string) []string {
	var out []string
	for _, item := range items {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}
