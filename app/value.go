package app

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// durationType tells durations from other integers.
var durationType = reflect.TypeFor[time.Duration]()

// kindOf returns how a key's value is written: "duration", "size", "int",
// "number", "bool", "list" or "text".
func kindOf(f field) string {
	switch {
	case f.value.Type() == durationType:
		return "duration"
	case f.value.CanInt() && isSize(f.key):
		return "size"
	case f.value.CanInt():
		return "int"
	case f.value.CanFloat():
		return "number"
	case f.value.Kind() == reflect.Bool:
		return "bool"
	case f.value.Kind() == reflect.Slice:
		return "list"
	default:
		return "text"
	}
}

// isSize reports whether a key counts bytes, which its name tells.
func isSize(key string) bool {
	for _, suffix := range []string{"_bytes", "_size", "memory", "budget"} {
		if strings.HasSuffix(key, suffix) {
			return true
		}
	}
	return false
}

// isSecret reports whether a key's value must not be shown, which its name
// tells.
func isSecret(key string) bool {
	return strings.HasSuffix(key, ".password") || strings.HasSuffix(key, ".token")
}

// setField gives f a value as a source has it: text from the environment and
// the flags, and whatever type YAML saw in the file. The error says how the
// value is to be written; the caller names the key.
func setField(f field, raw any) error {
	if err := setValue(f, raw); err != nil {
		return err
	}
	if f.store != nil {
		f.store()
	}
	return nil
}

func setValue(f field, raw any) error {
	text := strings.TrimSpace(fmt.Sprint(raw))
	if _, isText := raw.(string); !isText && raw != nil && isSecret(f.key) {
		return fmt.Errorf("is not text; write it in quotes") // YAML reads 0123 as 83
	}
	switch raw.(type) {
	case nil:
		return fmt.Errorf("has no value; give it one or leave the key out")
	case string, bool, int, int64, uint64:
	case []any:
		if kindOf(f) != "list" {
			return fmt.Errorf("takes one value, not a list or a section")
		}
	case float64: // for an integer 1e6, or one beyond 64 bits
		if f.value.CanInt() {
			return fmt.Errorf("%s is not a whole number; write all its digits", text)
		}
	default:
		return fmt.Errorf("takes one value, not a list or a section")
	}
	switch kindOf(f) {
	case "bool":
		v, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		f.value.SetBool(v)
	case "duration":
		v, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration; write a number and a unit, such as 500ms, 30s, 5m or 24h", text)
		}
		f.value.SetInt(int64(v))
	case "size":
		v, err := parseSize(text)
		if err != nil || f.value.OverflowInt(v) {
			return fmt.Errorf("%q is not a size; write bytes, such as 1048576, or a number and a unit: KiB, MiB or GiB", text)
		}
		f.value.SetInt(v)
	case "int":
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || f.value.OverflowInt(v) {
			b := boundsOf(f)
			return fmt.Errorf("%q is not a whole number from %d to %d", text, b.least, b.most)
		}
		f.value.SetInt(v)
	case "number":
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		f.value.SetFloat(v)
	case "list":
		items, err := parseList(raw)
		if err != nil {
			return err
		}
		f.value.Set(reflect.ValueOf(items))
	default:
		f.value.SetString(text)
	}
	return nil
}

// parseList reads a list: one of YAML, or text with commas.
func parseList(raw any) ([]string, error) {
	parts, isList := raw.([]any)
	if !isList {
		for part := range strings.SplitSeq(fmt.Sprint(raw), ",") {
			parts = append(parts, part)
		}
	}
	var items []string
	for _, part := range parts {
		switch part.(type) {
		case []any, map[string]any, nil:
			return nil, fmt.Errorf("takes a list of single values")
		}
		if item := strings.TrimSpace(fmt.Sprint(part)); item != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

// formatField writes the value of f so that setField reads it back.
func formatField(f field) string {
	switch kindOf(f) {
	case "duration":
		return formatDuration(time.Duration(f.value.Int()))
	case "size":
		return formatSize(f.value.Int())
	case "list":
		return strings.Join(f.value.Interface().([]string), ",")
	default:
		return fmt.Sprint(f.value)
	}
}

// sizeUnits are the units of a size, the largest first.
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// parseSize reads bytes: a plain number, or one with a unit.
func parseSize(text string) (int64, error) {
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil {
			return 0, err
		}
		if v > math.MaxInt64/unit.bytes || v < math.MinInt64/unit.bytes {
			return 0, strconv.ErrRange
		}
		return v * unit.bytes, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// formatSize writes bytes with the largest unit that loses nothing.
func formatSize(bytes int64) string {
	for _, unit := range sizeUnits {
		if bytes != 0 && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}

// formatDuration writes a duration without the zeros of Duration.String: 5m,
// not 5m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
