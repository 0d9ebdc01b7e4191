package gateway_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
	"github.com/iggykafka/gateway/core/handlertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inMemory is the configuration of a gateway that leaves nothing behind.
func inMemory() app.Config {
	config := app.DefaultConfig()
	config.Server.Listen = "127.0.0.1:0"
	config.Admin.Listen = ""
	config.Storage.Backend = "memory"
	return config
}

// compose builds a gateway, whose table and handlers it returns, and does not
// start it.
func compose(t *testing.T, modules ...fx.Option) (*dispatch.Table, []handler.Handler, error) {
	t.Helper()
	var table *dispatch.Table
	var handlers []handler.Handler
	gw := fx.New(
		app.Options(inMemory(), zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))),
		fx.Options(modules...),
		fx.Populate(&table),
		fx.Invoke(func(in handler.In) { handlers = in.Handlers }),
	)
	return table, handlers, gw.Err()
}

func TestGatewayStartsAndStops(t *testing.T) {
	gw := fxtest.New(t, app.Options(inMemory(), zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))), gateway.Plugins())
	gw.RequireStart().RequireStop()
}

func TestEveryHandlerConforms(t *testing.T) {
	_, handlers, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	for _, h := range handlers {
		name := kmsg.NameForKey(h.Spec().Key)
		t.Run(name, func(t *testing.T) {
			handlertest.Conform(t, h)
			handlertest.Readme(t, h, path.Join("handlers", strings.ToLower(name), "README.md"))
		})
	}
}

// The list is in key order, and its numbers are those of the handlers.
func TestListIsInKeyOrder(t *testing.T) {
	table, _, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	list := read(t, "plugins.go")
	last := 0
	for _, spec := range table.Specs() {
		line := fmt.Sprintf("api{%d, %s.Module},", spec.Key, strings.ToLower(kmsg.NameForKey(spec.Key)))
		at := strings.Index(list, line)
		require.Greater(t, at, last, "plugins.go: %s", line)
		last = at
	}
	require.Len(t, table.Specs(), strings.Count(list, "\t\tapi{"))
}

// The README's table shows the keys and versions that are served.
func TestReadmeListsTheKeys(t *testing.T) {
	table, _, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	readme := read(t, "README.md")
	for _, spec := range table.Specs() {
		versions := fmt.Sprintf("%d–%d", spec.Min, spec.Max)
		if spec.Min == spec.Max {
			versions = fmt.Sprint(spec.Min)
		}
		name := kmsg.NameForKey(spec.Key)
		row := fmt.Sprintf("| %d | [%s](handlers/%s) | %s |", spec.Key, name, strings.ToLower(name), versions)
		require.True(t, strings.Contains(readme, "\n"+row+"\n"), "README.md lacks the row %s", row)
	}
	require.Equal(t, len(table.Specs()), strings.Count(readme, "](handlers/")-strings.Count(readme, "](handlers/README.md)"))
}

func TestWithout(t *testing.T) {
	whole, _, err := compose(t, gateway.Plugins())
	require.NoError(t, err)
	table, _, err := compose(t, gateway.Plugins(gateway.Without(kmsg.DescribeGroups, kmsg.ListGroups)))
	require.NoError(t, err)
	want := slices.DeleteFunc(slices.Clone(whole.APIs()), func(r handler.Range) bool { return r.Key == 15 || r.Key == 16 })
	require.Equal(t, want, table.APIs())

	_, _, err = compose(t, gateway.Plugins(gateway.Without(kmsg.AddPartitionsToTxn)))
	require.ErrorContains(t, err, "gateway.Without(24): the list has no handler for key 24 (AddPartitionsToTxn)")
}

// Coordinators save no more of a group than backends take.
func TestGroupsFitIntoBackends(t *testing.T) {
	require.Equal(t, backend.MaxGroupState, coordinator.MaxSavedState)
}

// createToken and describeAgain answer keys in the tests below.
func createToken(_ context.Context, _ handler.Call, req *kmsg.CreateDelegationTokenRequest) (*kmsg.CreateDelegationTokenResponse, error) {
	return req.ResponseKind().(*kmsg.CreateDelegationTokenResponse), nil
}

func describeAgain(_ context.Context, _ handler.Call, req *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
	return req.ResponseKind().(*kmsg.DescribeGroupsResponse), nil
}

func add(h handler.Handler) fx.Option {
	return fx.Provide(func() handler.Out { return handler.Out{Handler: h} })
}

func replace(h handler.Handler) fx.Option {
	return fx.Provide(func() handler.Replacement { return handler.Replacement{Handler: h} })
}

// Everything that does not fit together is reported at once, by key, and names
// the functions that are to blame.
func TestStartUpFaultsAreReportedTogether(t *testing.T) {
	shape := guard.Body(guard.NeverFlexible)
	describe := func(bad handler.Policy) handler.Handler {
		return handler.New(0, 6, shape, bad, describeAgain)
	}
	_, _, err := compose(t, gateway.Plugins(),
		replace(handler.New(1, 99, shape, handler.Policy{}, createToken)),
		add(describe(handler.CloseConnection)),
	)
	require.Error(t, err)
	_, report, _ := strings.Cut(err.Error(), "the handlers do not fit together:\n")
	const here = "github.com/iggykafka/gateway_test."
	var lines []string
	for line := range strings.Lines(report) {
		lines = append(lines, strings.TrimSpace(line))
	}
	require.Len(t, lines, 4, report)
	require.Contains(t, lines[0], "key 15 (DescribeGroups): more than one handler: ")
	require.Contains(t, lines[0], "github.com/iggykafka/gateway/handlers/describegroups.")
	require.Contains(t, lines[0], here+"describeAgain")
	for _, line := range lines[1:] {
		require.Contains(t, line, "key 38 (CreateDelegationToken): ")
		require.Contains(t, line, here+"createToken")
	}
	require.Contains(t, report, "serves version 99, the codec knows versions to")
	require.Contains(t, report, "no policy for bad requests")
	require.Contains(t, report, "replaces nothing: no handler serves the key")
}
