package handlertest

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// Body is a request body that no client should send, and what is wrong with it.
type Body struct {
	Fault string
	// Kind is the fault without where it is: "null", "cut", or what stands for a count, in hex.
	Kind  string
	Bytes []byte
}

// Hostile returns bodies of one version that must be refused: null where there
// must be something, the largest counts, and bodies that end too soon.
func Hostile(h handler.Handler, version int16) []Body {
	var out []Body
	for _, c := range countsOf(h, version) {
		if !c.nullable {
			out = append(out, Body{c.path + " is null", "null", c.with(c.null())})
		}
		for _, huge := range c.huge() {
			out = append(out, Body{fmt.Sprintf("%s has the count %x", c.path, huge), fmt.Sprintf("%x", huge), c.with(huge)})
		}
	}
	body := filled(h, version, three).AppendTo(nil)
	for n := range body {
		out = append(out, Body{fmt.Sprintf("cut at byte %d", n), "cut", body[:n]})
	}
	return out
}

// Legal returns requests of one version that every field is set in by reflection:
// with nothing, one and three elements in each array, and with all nulls that are
// allowed. They decode, and make little sense.
func Legal(h handler.Handler, version int16) []kmsg.Request {
	var out []kmsg.Request
	for _, f := range []filling{empty, one, three, nulls} {
		out = append(out, filled(h, version, f))
	}
	return out
}
