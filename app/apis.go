package app

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
)

// showAPIs writes what the table of the composed gateway holds. The gateway is
// put together but not started: nothing listens and no file is opened.
func showAPIs(w io.Writer, l loaded, modules []fx.Option) error {
	var table *dispatch.Table
	app := fx.New(l.options(zap.NewNop()), fx.Options(modules...), fx.Populate(&table))
	if err := app.Err(); err != nil {
		return cause(err)
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

// shortName drops from an origin what is the same for all functions of ours,
// and the mark of a method value.
func shortName(origin string) string {
	return strings.TrimSuffix(strings.ReplaceAll(origin, "github.com/iggykafka/gateway/", ""), "-fm")
}
