// Package cli is the part of the command line that manages a running cluster:
// topics, groups and offsets. Its commands are thin clients of the Kafka protocol,
// through kadm, so they work against the gateway and against any Kafka broker.
//
// Each command prints a table for people, or with --json one JSON document for
// programs. What the cluster refuses is an error and exit code 1; what it did of
// a request before that is printed all the same.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// BootstrapVar is the environment variable that names the cluster where no flag
// does.
const BootstrapVar = "KAFKA_GATEWAY_BOOTSTRAP"

// DefaultBootstrap is where a gateway listens that was told nothing.
const DefaultBootstrap = "127.0.0.1:9092"

// A UsageError says that the command line is wrong.
type UsageError struct{ error }

// Run runs a command line, without the program's name. It returns a UsageError,
// or what went wrong.
func Run(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	root := command(environ)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if failed := (failed{}); errors.As(err, &failed) {
		return failed.error
	}
	if err != nil && !errors.As(err, new(UsageError)) {
		return UsageError{err} // of cobra's own checks
	}
	return err
}

// failed is an error of a command that was understood.
type failed struct{ error }

// Commands returns the first words that are commands of this package.
func Commands() []string {
	var words []string
	for _, c := range command(nil).Commands() {
		words = append(words, c.Name())
	}
	return words
}

// command returns the whole tree of commands.
func command(environ []string) *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use: "kafka-gateway", SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{err} })
	root.SetHelpFunc(help)
	flags := root.PersistentFlags()
	flags.StringSliceVarP(&o.bootstrap, "bootstrap", "b", bootstrap(environ), "addresses of the cluster; "+BootstrapVar+" sets another default")
	flags.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long the command may take in all")
	o.connection.AddFlags(flags)
	root.AddCommand(topics(o), groups(o), offsets(o))
	return root
}

// help writes what --help prints of a command. Switches are shown as they are
// written, not as --json[=true|false].
func help(c *cobra.Command, _ []string) {
	const form = "[=true|false]"
	usage := strings.ReplaceAll(c.UsageString(), form, strings.Repeat(" ", len(form)))
	fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s\n", cmp.Or(c.Long, c.Short), strings.TrimSpace(usage))
}

// bootstrap returns the default addresses.
func bootstrap(environ []string) []string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, BootstrapVar+"="); ok && value != "" {
			return strings.Split(value, ",")
		}
	}
	return []string{DefaultBootstrap}
}

// options are the flags that all commands have.
type options struct {
	bootstrap  []string
	connection Connection
	json       bool
	timeout    time.Duration
}

// action is the work of a command: it asks the cluster and returns what to print.
// What it returns beside an error is printed, too.
type action func(ctx context.Context, admin cluster, args []string) (result, error)

// does makes a command's RunE of its work.
func (o *options) does(work action) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := o.do(c, args, work)
		if err != nil && !errors.As(err, new(UsageError)) {
			return failed{err}
		}
		return err
	}
}

func (o *options) do(c *cobra.Command, args []string, work action) error {
	if o.timeout <= 0 {
		return UsageError{errors.New("--timeout must be above 0")}
	}
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	client, err := Connect(ctx, o.bootstrap, o.connection)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := cluster{kadm.NewClient(client)}
	admin.SetTimeoutMillis(int32(min(o.timeout, time.Hour).Milliseconds()))
	found, err := work(ctx, admin, args)
	for found == nil && notYet(err) && pause(ctx) {
		found, err = work(ctx, admin, args)
	}
	err = plain(err)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v (--timeout)", o.timeout)
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		err = errInterrupted
	}
	if denied(err) {
		err = o.refused(c, err)
	}
	if found != nil {
		err = errors.Join(o.print(c.OutOrStdout(), found), err)
		o.mention(c.ErrOrStderr(), found)
	}
	return err
}

// notYet tells that groups will be there soon: a broker that was just started
// loads them, or makes the topic for them.
func notYet(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress)
}

// pause waits a little, and reports false when there is no time for that.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(500 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// errInterrupted: a signal came before the answer.
var errInterrupted = errors.New("interrupted")

const (
	// clientID is what the cluster's log and quotas know the commands by.
	clientID = "kafka-gateway-cli"
	// dialTimeout bounds a connection that does not come about, to one address.
	dialTimeout = 5 * time.Second
)

// Connect returns a client of the cluster, once one of the addresses answers. Else
// the error is an [Unreachable], or a UsageError.
func Connect(ctx context.Context, addresses []string, how Connection) (*kgo.Client, error) {
	try, err := how.try()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(try.options(), kgo.SeedBrokers(addresses...), kgo.ClientID(clientID),
		kgo.RequestRetries(3), kgo.RetryTimeout(5*time.Second), kgo.DialTimeout(dialTimeout), kgo.MetadataMinAge(100*time.Millisecond))...)
	if err != nil {
		return nil, UsageError{err}
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, errInterrupted
		}
		failed := unreachable(addresses, err, try)
		if errors.Is(err, kerr.UnsupportedSaslMechanism) {
			failed.Advice = offers(offered(ctx, addresses, how))
		}
		return nil, failed
	}
	return client, nil
}
