package handlertest

import (
	"bytes"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// count is one length or count field of an encoded request, found by encoding
// the request with no and with one element and looking where the bytes part.
type count struct {
	path     string
	body     []byte // with one element here and everywhere
	at       int    // where the field begins
	width    int    // its bytes: 2 or 4, or 1 for a varint
	flexible bool
	array    bool
	element  int  // bytes of the smallest element, for arrays
	nullable bool // the codec writes null for a nil
}

// null returns the encoding of null in the field's own form.
func (c count) null() []byte {
	if c.flexible {
		return []byte{0}
	}
	return bytes.Repeat([]byte{0xff}, c.width)
}

// huge returns the largest counts that the field can express.
func (c count) huge() [][]byte {
	if c.flexible {
		return [][]byte{{0xff, 0xff, 0xff, 0xff, 0x0f}, {0xff, 0xff, 0xff, 0xff, 0x07}, bytes.Repeat([]byte{0x80}, 9)}
	}
	largest := bytes.Repeat([]byte{0xff}, c.width)
	largest[0] = 0x7f
	lowest := make([]byte, c.width)
	lowest[0] = 0x80
	return [][]byte{largest, lowest}
}

// with returns the body with the field replaced.
func (c count) with(field []byte) []byte {
	out := append([]byte(nil), c.body[:c.at]...)
	out = append(out, field...)
	return append(out, c.body[c.at+c.width:]...)
}

// countsOf returns every length and count that the version has, in wire order,
// an array before what is inside it.
func countsOf(h handler.Handler, version int16) []count {
	req := filled(h, version, one)
	body := req.AppendTo(nil)
	var out []count
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; name != "UnknownTags" && !knownTags[v.Type().Name()+"."+name] {
					walk(path+"."+name, v.Field(i))
				}
			}
		case reflect.Pointer:
			if v.Type().Elem().Kind() == reflect.Struct {
				walk(path, v.Elem()) // a presence byte, not a length
			} else if c, ok := countAt(req, body, path, v); ok {
				out = append(out, c)
			}
		case reflect.String:
			if c, ok := countAt(req, body, path, v); ok {
				out = append(out, c)
			}
		case reflect.Slice:
			c, ok := countAt(req, body, path, v)
			if !ok {
				return
			}
			out = append(out, c)
			if c.array {
				walk(path+"[0]", v.Index(0))
			}
		}
	}
	walk("", reflect.ValueOf(req).Elem())
	return out
}

// countAt finds the count of the field v of req, if the version has it.
func countAt(req kmsg.Request, body []byte, path string, v reflect.Value) (count, bool) {
	saved := reflect.New(v.Type()).Elem()
	saved.Set(v)
	defer v.Set(saved)

	v.Set(emptyOf(v.Type()))
	without := req.AppendTo(nil)
	if bytes.Equal(without, body) {
		return count{}, false
	}
	at := 0
	for body[at] == without[at] {
		at++
	}
	c := count{path: path, body: body, flexible: req.IsFlexible(), width: 1}
	c.array = v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8
	if !c.flexible {
		c.width = 4
		if v.Kind() != reflect.Slice {
			c.width = 2
		}
	}
	c.at = at - (c.width - 1) // small counts differ in their last byte

	if v.Kind() != reflect.String {
		v.SetZero()
		null := req.AppendTo(nil)
		c.nullable = bytes.HasPrefix(null[c.at:], c.null())
	}
	if c.array {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), empty)
		c.element = len(req.AppendTo(nil)) - len(without)
	}
	return c, true
}

func emptyOf(t reflect.Type) reflect.Value {
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.New(t.Elem())
	case reflect.Slice:
		return reflect.MakeSlice(t, 0, 0)
	}
	return reflect.Zero(t)
}
