package handlertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// Env is what one scenario file runs against.
type Env struct {
	Handler handler.Handler
	// Call is passed with every request. A zero MaxFrame means 100 MiB.
	Call handler.Call
	// Commands are what the file may use beside "request", to prepare state or
	// to look at it. Each returns the text that is compared.
	Commands map[string]func(t *testing.T, d *datadriven.TestData) string
	// Normalize rewrites what differs from run to run, such as random ids.
	Normalize func(string) string
}

// Scenarios runs each file of a directory against an Env of its own. A file is
// a list of commands with their expected output (see datadriven; -rewrite
// writes the outputs, and the diff is to be read):
//
//	request version=5
//	{"Groups": ["g"]}
//	----
//	Groups:
//	- Group: "g"
//	  State: "Dead"
//
// The request is JSON by the codec's field names; what is left out has the
// protocol's default; a UUID is a string; bytes are a string, taken as they
// are. The response is encoded and decoded at the version, so that only what
// is on the wire is shown; a zero ThrottleMillis is left out, and the codec
// reads an empty array back as null where it is not nullable. Instead of a
// response there may be "no reply", "close: " and the error, or "refused: " and
// what the shape or the codec found.
//
// A request is made without an authorizer, or with an [Access] by the arguments
//
//	request version=5 allow=(read:topic:a,describe:group:g)
//	request version=5 allow=none
//	request version=5 allow=all deny=(alter:cluster) asked
//
// where rights are as ParseRight reads them; "deny" alone allows all else. With
// "asked" what the handler asked for follows the answer, a line each. A handler
// fails that asks what it does not declare (see handler.Check), be it here or for
// random requests that are denied everything. In the directory "testdata" it fails
// also when nothing asks what it declares.
func Scenarios(t *testing.T, dir string, open func(t *testing.T) Env) {
	t.Helper()
	open = withFrame(open)
	checks := &authorization{files: countFiles(t, dir)}
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		env := open(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := ""
			if command, ok := env.Commands[d.Cmd]; ok {
				out = command(t, d)
			} else if d.Cmd == "request" {
				out = checks.request(t, env, d)
			} else {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if env.Normalize != nil {
				out = env.Normalize(out)
			}
			return strings.TrimRight(out, "\n") + "\n"
		})
		checks.done()
	})
	if dir == "testdata" {
		checks.conform(t, open)
	}
}

// withFrame gives calls their largest frame.
func withFrame(open func(*testing.T) Env) func(*testing.T) Env {
	return func(t *testing.T) Env {
		env := open(t)
		if env.Call.MaxFrame == 0 {
			env.Call.MaxFrame = 100 << 20
		}
		return env
	}
}

func request(t *testing.T, env Env, d *datadriven.TestData) string {
	var version int
	d.ScanArgs(t, "version", &version)
	req := env.Handler.NewRequest()
	req.SetVersion(int16(version))
	if err := ParseRequest(d.Input, req); err != nil {
		d.Fatalf(t, "%v", err)
	}
	return Answer(context.Background(), env.Handler, env.Call, req)
}

// Answer sends a request through encoding, the handler's shape, decoding, the
// handler, and encoding of the response, and returns it as text.
func Answer(ctx context.Context, h handler.Handler, call handler.Call, req kmsg.Request) string {
	body := req.AppendTo(nil)
	if _, err := h.Spec().Shape.Check(req.GetVersion(), body, fuzzMemory); err != nil {
		return "refused: " + err.Error()
	}
	decoded := h.NewRequest()
	decoded.SetVersion(req.GetVersion())
	if err := decoded.ReadFrom(body); err != nil {
		return "refused: " + err.Error()
	}
	resp, err := h.Handle(ctx, call, decoded)
	switch {
	case err != nil:
		return "close: " + err.Error()
	case resp == nil:
		return "no reply"
	}
	back, err := RoundTrip(resp, req.GetVersion())
	if err != nil {
		return fmt.Sprintf("undecodable response: %v", err)
	}
	return FormatResponse(back)
}

// RoundTrip encodes a response at a version and decodes it again.
func RoundTrip(resp kmsg.Response, version int16) (kmsg.Response, error) {
	resp.SetVersion(version)
	back := resp.RequestKind().ResponseKind()
	back.SetVersion(version)
	return back, back.ReadFrom(resp.AppendTo(nil))
}

// Size returns what a response takes of a frame at a version, in bytes: the correlation
// id, the header's tags where the version has them, and the body.
func Size(resp kmsg.Response, version int16) int {
	resp.SetVersion(version)
	size := 4 + len(resp.AppendTo(nil))
	if resp.IsFlexible() {
		size++
	}
	return size
}
