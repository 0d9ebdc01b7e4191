// Package doctor looks at a setup as its clients will meet it, and says what is
// wrong and what to do: whether the gateway answers, whether the address that it
// tells clients leads back to it, which settings lose data, whether clocks agree,
// and whether the limits of the machine fit those of the configuration.
//
// It only asks. Nothing is written anywhere.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/iggykafka/gateway/app/cli"
)

// Setup is what is looked at. What is left out is not checked.
type Setup struct {
	// Bootstrap are the addresses that clients are given, as host:port. Without any
	// it is where this machine reaches one of Listeners, which Connection fits.
	Bootstrap []string
	// Connection is how clients talk to them, and who doctor is there.
	Connection cli.Connection
	// Local says that the other fields describe the gateway at Bootstrap, which
	// runs, or would run, on this machine.
	Local bool

	// Fault is why no gateway can be made of the configuration, a line for each fault;
	// nil where one can.
	Fault error

	Listeners []Listener
	// Authorizer says that what clients may do is decided by somebody, and Strangers
	// that those who do not say who they are may nevertheless do something.
	Authorizer, Strangers bool
	// Storage is where records are kept: embedded, memory or iggy; Sync is
	// storage.sync.
	Storage string
	Sync    bool
	// Stopped says that the groups' coordinator forgets a group with its last
	// member.
	Forgets bool
	// MaxConnections and Memory are the configured limits: connections, and bytes
	// that all budgets allow together.
	MaxConnections int
	Memory         int64
	// Admin is the address of the admin listener, as configured; "" for none.
	Admin string
	// Files are those that others should not get at.
	Files []File
	// Backend looks at the backend's own settings; nil where it has none.
	Backend func(context.Context) []Finding
}

// Status is how serious a finding is.
type Status string

// The statuses. A setup with a Fail does not work, or loses data without a crash.
const (
	OK   Status = "ok"
	Note Status = "note"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Finding is one thing that was looked at.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Report is everything that was found.
type Report []Finding

// Healthy tells that nothing failed.
func (r Report) Healthy() bool {
	for _, f := range r {
		if f.Status == Fail {
			return false
		}
	}
	return true
}

// Text writes the report for people.
func (r Report) Text(w io.Writer) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r {
		fmt.Fprintf(columns, "%s\t%s\t%s\n", strings.ToUpper(string(f.Status)), f.Check, cli.Printable(f.Text))
		if f.Remedy != "" {
			fmt.Fprintf(columns, "\t\t→ %s\n", cli.Printable(f.Remedy))
		}
	}
	return columns.Flush()
}

// JSON writes the report for programs.
func (r Report) JSON(w io.Writer) error {
	return cli.WriteJSON(w, struct {
		Healthy  bool      `json:"healthy"`
		Findings []Finding `json:"findings"`
	}{r.Healthy(), append([]Finding{}, r...)})
}

// patience bounds each question to a server.
const patience = 5 * time.Second

// Examine looks at everything.
func Examine(ctx context.Context, s Setup) Report {
	r := s.configuration()
	switch asked := s.listenerFor(); {
	case len(s.Bootstrap) > 0:
		r = append(r, s.clients(ctx)...)
	case len(s.Listeners) > 0 && !s.Connection.Given() && !asked.fits(s.Connection):
		r = append(r, s.unasked(ctx, asked))
	default:
		s.Bootstrap = []string{asked.asked()}
		r = append(append(r, s.clients(ctx)...), s.others(asked)...)
	}
	if s.Local {
		r = append(r, s.exposure()...)
		r = append(r, s.permissions()...)
		r = append(r, s.storage(ctx)...)
		r = append(r, s.machine()...)
		r = append(r, s.clock(ctx)...)
	}
	return r
}

// configuration tells what keeps a gateway from being made.
func (s Setup) configuration() (r Report) {
	if s.Fault == nil {
		return nil
	}
	for line := range strings.Lines(s.Fault.Error()) {
		r = append(r, found("configuration", Fail, strings.TrimSpace(line), "correct it; a gateway with this configuration does not start"))
	}
	return r
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, Status: OK, Text: fmt.Sprintf(format, args...)}
}

func found(check string, status Status, text, remedy string) Finding {
	return Finding{Check: check, Status: status, Text: text, Remedy: remedy}
}
