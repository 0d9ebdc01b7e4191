package handlertest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var uuidType = reflect.TypeFor[[16]byte]()

// ParseRequest fills a request from JSON; see Scenarios for the notation.
func ParseRequest(text string, req kmsg.Request) error {
	v := reflect.ValueOf(req).Elem()
	setDefaults(v)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return err
	}
	return assign(v, doc, "request")
}

// assign sets v from a decoded JSON value.
func assign(v reflect.Value, doc any, path string) error {
	if doc == nil {
		v.SetZero()
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return assign(v.Elem(), doc, path)
	}
	switch x := doc.(type) {
	case map[string]any:
		if v.Kind() == reflect.Struct {
			return assignStruct(v, x, path)
		}
	case []any:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), len(x), len(x)))
			for i, e := range x {
				if err := assign(v.Index(i), e, fmt.Sprintf("%s[%d]", path, i)); err != nil {
					return err
				}
			}
			return nil
		}
	case string:
		return assignString(v, x, path)
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(x)
			return nil
		}
	case json.Number:
		if n, err := x.Int64(); err == nil && v.CanInt() {
			v.SetInt(n)
			return nil
		}
		if f, err := x.Float64(); err == nil && v.CanFloat() {
			v.SetFloat(f)
			return nil
		}
	}
	return fmt.Errorf("%s: a %T does not fit %s", path, doc, v.Type())
}

func assignStruct(v reflect.Value, fields map[string]any, path string) error {
	setDefaults(v)
	for name, value := range fields {
		f := v.FieldByName(name)
		if !f.IsValid() {
			return fmt.Errorf("%s: %s has no field %s", path, v.Type().Name(), name)
		}
		if err := assign(f, value, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func assignString(v reflect.Value, s, path string) error {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(s)
	case v.Type() == uuidType:
		id, err := uuid.Parse(s)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		v.Set(reflect.ValueOf([16]byte(id)))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes([]byte(s))
	default:
		return fmt.Errorf("%s: a string does not fit %s", path, v.Type())
	}
	return nil
}

// FormatResponse writes a response as indented text, one field a line.
func FormatResponse(resp kmsg.Response) string {
	var b strings.Builder
	formatStruct(&b, reflect.ValueOf(resp).Elem(), "", "")
	if b.Len() == 0 {
		return "(no fields set)"
	}
	return b.String()
}

// formatStruct writes the fields, the first after lead and the others after
// indent.
func formatStruct(b *strings.Builder, v reflect.Value, lead, indent string) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if name == "Version" || f.Type() == tagsType || name == "ThrottleMillis" && f.IsZero() {
			continue
		}
		b.WriteString(lead + name + ":")
		lead = indent
		formatValue(b, f, indent)
	}
	if lead != indent {
		b.WriteString(lead + "(empty)\n")
	}
}

func formatValue(b *strings.Builder, v reflect.Value, indent string) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Pointer, v.Kind() == reflect.Slice && v.IsNil():
		b.WriteString(" null\n")
	case v.Type() == uuidType:
		b.WriteString(" " + uuid.UUID(v.Interface().([16]byte)).String() + "\n")
	case v.Kind() == reflect.String:
		b.WriteString(" " + strconv.Quote(v.String()) + "\n")
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		b.WriteString(" " + strconv.Quote(string(v.Bytes())) + "\n")
	case v.Kind() == reflect.Struct:
		b.WriteString("\n")
		formatStruct(b, v, indent+"  ", indent+"  ")
	case v.Kind() == reflect.Slice:
		formatSlice(b, v, indent)
	default:
		fmt.Fprintf(b, " %v\n", v.Interface())
	}
}

func formatSlice(b *strings.Builder, v reflect.Value, indent string) {
	if v.Len() == 0 {
		b.WriteString(" []\n")
		return
	}
	b.WriteString("\n")
	for i := range v.Len() {
		if e := v.Index(i); e.Kind() == reflect.Struct {
			formatStruct(b, e, indent+"- ", indent+"  ")
		} else {
			b.WriteString(indent + "-")
			formatValue(b, e, indent+"  ")
		}
	}
}
