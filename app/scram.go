package app

import (
	"bufio"
	"crypto/pbkdf2"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/xdg-go/stringprep"
	"golang.org/x/term"

	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/security/users"
)

const scramHelp = `kafka-gateway scram NAME makes the lines of sasl.users_file that let NAME log in by SCRAM.
It reads the password from the terminal, or the first line of standard input.

  kafka-gateway scram admin >> users
  kafka-gateway --sasl.users_file users ...

Flags:
  --mechanism NAME   SCRAM-SHA-256 or SCRAM-SHA-512 (default: a line for each)
  --iterations N     how many rounds a guess of the password costs, 4096 to 16384
                     (default 4096)
`

// maxPassword is the longest password, in bytes.
const maxPassword = 1024

// makingUser tells whether a command line is that of the command scram. It has flags
// of its own, and reads no configuration.
func makingUser(args []string) bool { return len(args) > 0 && args[0] == "scram" }

// makeUser runs the command scram.
func (p program) makeUser() int {
	o, err := parseScram(p.args[1:])
	switch {
	case err != nil:
		return p.misused(err, "scram --help")
	case o.help:
		fmt.Fprint(p.out, scramHelp)
		return exitOK
	}
	password, err := p.password()
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	if prepared, err := stringprep.SASLprep.Prepare(password); err != nil || prepared != password {
		p.complain(errors.New("clients differ in how they read characters that are in this password; " +
			"one of letters, digits and punctuation of ASCII works with all"))
	}
	for _, mechanism := range o.mechanisms {
		line, err := scramLine(o.name, mechanism, o.iterations, password)
		if err != nil {
			p.complain(err)
			return exitFailed
		}
		fmt.Fprintln(p.out, line)
	}
	return exitOK
}

// scramOptions is a command line of the command scram.
type scramOptions struct {
	name       string
	mechanisms []int8
	iterations int32
	help       bool
}

func parseScram(args []string) (o scramOptions, err error) {
	var mechanism string
	set := pflag.NewFlagSet("kafka-gateway scram", pflag.ContinueOnError)
	set.Usage = func() {}
	set.BoolVarP(&o.help, "help", "h", false, "")
	set.StringVar(&mechanism, "mechanism", "", "")
	set.Int32Var(&o.iterations, "iterations", security.MinScramIterations, "")
	if err := set.Parse(args); err != nil || o.help {
		return o, err
	}
	if set.NArg() != 1 {
		return o, errors.New("scram takes one name; the password is asked for")
	}
	o.name = set.Arg(0)
	if err := users.CheckName(o.name); err != nil {
		return o, fmt.Errorf("scram: %w", err)
	}
	if o.iterations < security.MinScramIterations || o.iterations > security.MaxScramIterations {
		return o, fmt.Errorf("--iterations: %d is out of range; set %d to %d",
			o.iterations, security.MinScramIterations, security.MaxScramIterations)
	}
	o.mechanisms = security.ScramMechanisms
	if mechanism == "" {
		return o, nil
	}
	i := slices.IndexFunc(o.mechanisms, func(m int8) bool { return security.ScramName(m) == mechanism })
	if i < 0 {
		return o, fmt.Errorf("--mechanism: %q is neither SCRAM-SHA-256 nor SCRAM-SHA-512", mechanism)
	}
	o.mechanisms = o.mechanisms[i : i+1]
	return o, nil
}

// scramLine makes a line of the users file, with a salt of its own. Salts look like
// those of Kafka's tools, as do those that logins of unknown users are shown.
func scramLine(name string, mechanism int8, iterations int32, password string) (string, error) {
	hash, salt := security.ScramHash(mechanism), []byte(strings.ToLower(rand.Text()))
	salted, err := pbkdf2.Key(hash, password, salt, int(iterations), hash().Size())
	if err != nil {
		return "", err
	}
	return users.FormatLine(name, mechanism, security.NewScramCredential(mechanism, salted, salt, iterations)), nil
}

// password reads a password: without an echo and twice from a terminal, else the
// first line.
func (p program) password() (string, error) {
	var password string
	var err error
	if file, ok := p.in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		password, err = p.typed(file)
	} else {
		password, err = firstLine(p.in)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the password: %w", err)
	case password == "":
		return "", errors.New("the password is empty")
	case len(password) > maxPassword:
		return "", fmt.Errorf("the password is longer than %d bytes", maxPassword)
	}
	return password, nil
}

func firstLine(from io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(from, maxPassword+3)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), err
}

// typed asks at a terminal. A signal ends it, and brings the echo back.
func (p program) typed(terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		password string
		err      error
	}
	done := make(chan answer, 1)
	go func() {
		first, err := p.ask(fd, "Password: ")
		again := first
		if err == nil {
			again, err = p.ask(fd, "Again: ")
		}
		if err == nil && again != first {
			err = errors.New("the two are not the same")
		}
		done <- answer{first, err}
	}()
	select {
	case a := <-done:
		return a.password, a.err
	case <-p.signals: // the program ends, and with it the goroutine
		fmt.Fprintln(p.err)
		return "", errors.Join(errors.New("interrupted"), term.Restore(fd, before))
	}
}

func (p program) ask(fd int, prompt string) (string, error) {
	fmt.Fprint(p.err, prompt)
	defer fmt.Fprintln(p.err)
	password, err := term.ReadPassword(fd)
	return string(password), err
}
