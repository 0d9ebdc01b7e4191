// Package app turns a list of modules into a program: configuration, logs,
// signals, exit codes. Package gateway has the list that the project ships;
// app/kafka-gateway/main.go is a whole program and meant to be copied.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"go.uber.org/fx"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/tuning"
)

// Exit codes of the program.
const (
	exitOK     = 0
	exitFailed = 1 // the gateway could not start, or could not go on
	exitUsage  = 2 // the command line is wrong
)

// Main runs the program: it reads the command line, does what it says with the
// gateway that modules make up, and exits. SIGTERM and SIGINT end the gateway
// in order; a second one ends it at once.
func Main(modules ...fx.Option) {
	// Room for two: the second signal must not be lost while the first is
	// being obeyed.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	os.Exit(program{
		args:    os.Args[1:],
		environ: os.Environ(),
		in:      os.Stdin,
		out:     os.Stdout,
		err:     os.Stderr,
		signals: signals,
		modules: modules,
		tune:    tuning.Start,
	}.run(context.Background()))
}

// program is one run of the program, and all that it has of the world.
type program struct {
	args    []string
	environ []string
	in      io.Reader
	out     io.Writer
	err     io.Writer
	signals <-chan os.Signal
	modules []fx.Option
	// tune sets up the Go runtime of the process for so many bytes of heap; nil where it
	// is shared with others.
	tune func(heap int64) (undo func())
}

// run does what the command line says and returns the exit code. What went
// wrong has been written to p.err by then, a fault a line.
func (p program) run(ctx context.Context) int {
	p.args = helpAfter(p.args)
	if managing(p.args) {
		return p.manage(ctx)
	}
	if makingUser(p.args) {
		return p.makeUser()
	}
	line, err := parseLine(p.args)
	if err != nil {
		return p.misused(err, "--help")
	}
	if line.help {
		usage(p.out, line.command)
		return exitOK
	}
	switch line.command {
	case "version":
		version(p.out)
		return exitOK
	case "help":
		help(p.out)
		return exitOK
	}
	if line.example {
		example(p.out)
		return exitOK
	}
	config, err := load(line.configFile(p.environ), p.environ, line.flags, p.modules...)
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	switch line.command {
	case "config":
		showConfig(p.out, config)
	case "apis":
		show := showAPIs
		if line.acl {
			show = showChecks
		}
		err = show(p.out, config, p.modules)
	case "doctor":
		return p.examine(ctx, config, line)
	case "offsets":
		if line.action == "export" {
			err = p.exportOffsets(ctx, config, line.target)
		} else {
			err = p.importOffsets(ctx, config, line.target)
		}
	default:
		err = p.serve(ctx, config)
	}
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	return exitOK
}

// misused says what is wrong with the command line, and what tells more.
func (p program) misused(err error, more string) int {
	p.complain(fmt.Errorf("%w; see kafka-gateway %s", err, more))
	return exitUsage
}

// complain writes an error, with the program's name before each line. Parts of it
// may come from strangers.
func (p program) complain(err error) {
	for line := range strings.Lines(err.Error()) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "\t", " ")
		fmt.Fprintf(p.err, "kafka-gateway: %s\n", cli.Printable(line))
	}
}
