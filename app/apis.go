package app

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/handler"
)

// tableOf returns the table of the composed gateway. The gateway is put together
// but not started: nothing listens and no file is opened.
func tableOf(l loaded, modules []fx.Option) (*dispatch.Table, error) {
	var table *dispatch.Table
	app := fx.New(l.options(zap.NewNop()), fx.Options(modules...), fx.Populate(&table))
	if err := app.Err(); err != nil {
		return nil, l.cause(err)
	}
	return table, nil
}

// showAPIs writes what the table of the composed gateway holds.
func showAPIs(w io.Writer, l loaded, modules []fx.Option) error {
	table, err := tableOf(l, modules)
	if err != nil {
		return err
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "KEY\tNAME\tVERSIONS\tADVERTISED\tBAD REQUEST\tANSWERED BY")
	for _, spec := range table.Specs() {
		advertised := "no"
		if r := spec.Advertised(); !spec.Hidden {
			advertised = fmt.Sprintf("%d-%d", r.Min, r.Max)
		}
		fmt.Fprintf(columns, "%d\t%s\t%d-%d\t%s\t%s\t%s\n", spec.Key, kmsg.NameForKey(spec.Key),
			spec.Min, spec.Max, advertised, spec.BadRequest, shortName(spec.Origin))
	}
	return columns.Flush()
}

// showChecks writes what the handlers of the composed gateway ask an authorizer, a row
// for each check of each key.
func showChecks(w io.Writer, l loaded, modules []fx.Option) error {
	table, err := tableOf(l, modules)
	if err != nil {
		return err
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range checkRows(table) {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	return columns.Flush()
}

// checkRows returns the table of checks, its header first.
func checkRows(table *dispatch.Table) [][]string {
	rows := [][]string{{"KEY", "NAME"}}
	for _, column := range handler.ChecksHeader {
		rows[0] = append(rows[0], strings.ToUpper(column))
	}
	for _, spec := range table.Specs() {
		key := []string{fmt.Sprint(spec.Key), kmsg.NameForKey(spec.Key)}
		for _, c := range spec.Checks {
			rows = append(rows, slices.Concat(key, c.Row()))
		}
		if len(spec.Checks) == 0 {
			rows = append(rows, append(key, "none", "", "", ""))
		}
	}
	return rows
}

// shortName drops from an origin what is the same for all functions of ours,
// and the mark of a method value.
func shortName(origin string) string {
	return strings.TrimSuffix(strings.ReplaceAll(origin, "github.com/iggykafka/gateway/", ""), "-fm")
}
