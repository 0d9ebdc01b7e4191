package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// result is what a command found: the value itself is its JSON, and it can write
// itself as a table.
type result interface {
	table(t *table)
}

// table is rows of cells, the first of which are titles.
type table struct{ rows [][]string }

func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = fmt.Sprint(cell)
		if row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// gap leaves a line empty.
func (t *table) gap() { t.rows = append(t.rows, nil) }

func (o *options) print(w io.Writer, found result) error {
	if o.json {
		return WriteJSON(w, found)
	}
	var t table
	found.table(&t)
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(columns, strings.Join(printable(row), "\t"))
	}
	return columns.Flush()
}

// Printable replaces what would move a terminal's cursor, change its colours or
// turn the direction of a line: strangers chose names, and servers the texts of
// errors.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func printable(cells []string) []string {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = Printable(cell)
	}
	return clean
}

// WriteJSON writes a value as indented JSON, with what Printable replaces as
// escapes, which mean the same to programs.
func WriteJSON(w io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, r := range text.String() { // outside of strings there is nothing to escape
		if r == '\n' || unicode.IsGraphic(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(out, `\u%04x`, unit)
		}
	}
	return out.Flush()
}

// done is the outcome of a command that changed something.
type done []change

// change is what became of one thing.
type change struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
	err    error
}

// note adds an outcome: result when err is nil.
func (d *done) note(name, result string, err error) {
	c := change{Name: name, Result: result}
	if err = plain(err); err != nil {
		c.Result, c.Error, c.err = "failed", err.Error(), err
	}
	*d = append(*d, c)
}

// table shows what succeeded; the rest is the error.
func (d done) table(t *table) {
	for _, c := range d {
		if c.Error == "" {
			t.row(c.Name, c.Result)
		}
	}
}

// outcome returns the changes in order of their names, and what failed of them.
func (d done) outcome() (result, error) {
	slices.SortStableFunc(d, func(a, b change) int { return strings.Compare(a.Name, b.Name) })
	var failed error
	for _, c := range d {
		if c.err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c.Name, c.err))
		}
	}
	return d, failed
}

// because joins an error code and the text that came with it.
func because(err error, text string) error {
	var code *kerr.Error
	if !errors.As(err, &code) || text == "" || text == code.Description || isDenial(code) && repeats(text) {
		return plain(err)
	}
	return explained{code, text}
}

// explained is an error code with the text that came with it, or none, in place of the
// one that it always has.
type explained struct {
	code *kerr.Error
	text string
}

func (e explained) Error() string {
	if e.text == "" {
		return e.code.Message
	}
	return fmt.Sprintf("%s: %s", e.code.Message, e.text)
}

func (e explained) Unwrap() error { return e.code }

// plain leaves of an error what people need.
func plain(err error) error {
	var shards *kadm.ShardErrors
	if errors.As(err, &shards) && len(shards.Errs) == 1 {
		err = shards.Errs[0].Err
	}
	if short, ok := brief(err); ok {
		return short
	}
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		return op.Err
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
		return errClosed
	case err != nil && strings.Contains(err.Error(), "broker is too old"):
		return errors.New("this cluster does not serve the request that the command needs")
	}
	return err
}

// named demands at least one argument, and no empty one.
func named(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return UsageError{fmt.Errorf("%s needs the name of a %s", nameOf(c), what)}
		}
		for _, arg := range args {
			if arg == "" {
				return UsageError{errors.New("a name must not be empty")}
			}
		}
		return nil
	}
}

// one demands exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := named(what)(c, args); err != nil {
			return err
		}
		if len(args) > 1 {
			return UsageError{fmt.Errorf("%s takes one %s, not %q too", nameOf(c), what, args[1])}
		}
		return nil
	}
}

// none demands that there are no arguments.
func none(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError{fmt.Errorf("%s takes no %q", nameOf(c), args[0])}
	}
	return nil
}

// family is a command that only holds others.
func family(use, short string, members ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UsageError{fmt.Errorf("unknown command %q of %s; it has %s", args[0], use, names(members))}
			}
			return UsageError{fmt.Errorf("%s needs a command: %s", use, names(members))}
		},
		Args: cobra.ArbitraryArgs,
	}
	c.AddCommand(members...)
	return c
}

func names(commands []*cobra.Command) string {
	words := make([]string, len(commands))
	for i, c := range commands {
		words[i] = c.Name()
	}
	return strings.Join(words, ", ")
}
