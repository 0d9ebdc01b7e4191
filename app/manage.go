package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/doctor"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/authorizer"
	"github.com/iggykafka/gateway/security/iggypermissions"
)

// managing tells whether a command line is one of those that manage a running
// cluster. They have flags of their own, and read no configuration.
func managing(args []string) bool {
	if len(args) == 0 || !slices.Contains(cli.Commands(), args[0]) {
		return false
	}
	// Export and import work on a store, as the configuration says.
	return args[0] != "offsets" || len(args) > 1 && args[1] == "list"
}

// manage runs such a command, until a signal at the longest.
func (p program) manage(ctx context.Context) int {
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	err := cli.Run(ctx, p.args, p.environ, p.out, p.err)
	switch {
	case errors.As(err, new(cli.UsageError)):
		return p.misused(err, p.args[0]+" --help")
	case err != nil:
		p.complain(err)
		return exitFailed
	}
	return exitOK
}

// untilSignal returns a context that a signal ends.
func (p program) untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// examine looks at the setup that the configuration describes, or at the one that
// --bootstrap names, and says what is wrong with it.
func (p program) examine(ctx context.Context, l loaded, line line) int {
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	if _, _, err := line.login.Settle(); err != nil {
		return p.misused(err, "doctor --help")
	}
	setup := l.setup(line.bootstrap)
	setup.Connection = line.login
	if setup.Local {
		_, err := tableOf(l, p.modules)
		if file := l.SASL.Users.Check(); file != nil { // which only the start reads
			err = errors.Join(err, l.cause(file))
		}
		setup.Fault = err
	}
	report := doctor.Examine(ctx, setup)
	write := report.Text
	if line.json {
		write = report.JSON
	}
	if err := write(p.out); err != nil {
		p.complain(err)
		return exitFailed
	}
	if !report.Healthy() {
		return exitFailed
	}
	return exitOK
}

// setup is what the configuration says of a gateway on this machine; of one at
// other addresses only these are known.
func (l loaded) setup(bootstrap []string) doctor.Setup {
	if len(bootstrap) > 0 {
		return doctor.Setup{Bootstrap: bootstrap}
	}
	s := doctor.Setup{
		Local:          true,
		Listeners:      l.listeners(),
		Authorizer:     l.Authorization.Authorizer != authorizer.None,
		Strangers:      l.Authorization.AllowIfNoACL || slices.Contains(l.Authorization.SuperUsers, security.Anonymous.String()),
		Storage:        l.Storage.Backend,
		Sync:           l.Storage.Sync && l.Storage.Backend == string(chosen.Embedded),
		MaxConnections: l.Server.MaxConnections,
		Memory:         l.Server.MemoryBudget + l.Groups.MemoryBudget,
		Forgets:        l.Groups.Coordinator == "memory",
		Admin:          l.Admin.Listen,
		Files:          l.files(),
	}
	if l.Storage.Backend == string(chosen.Iggy) {
		s.Backend = l.inspectIggy
	}
	return s
}

// listeners are the listeners as doctor sees them.
func (l loaded) listeners() (all []doctor.Listener) {
	for _, at := range l.Server.All() {
		offered := at.Mechanisms
		if len(offered) == 0 {
			offered = l.SASL.Logins.Mechanisms
		}
		listener := doctor.Listener{
			Key: at.Section + "listen", Listen: at.Listen, Advertise: at.Advertise, Protocol: at.Protocol,
			Plain: len(offered) == 0 || slices.Contains(offered, "PLAIN") || slices.Contains(offered, "OAUTHBEARER"),
		}
		if listener.Encrypted() {
			listener.Certificate, listener.Expires, listener.Err = l.TLS.Expires(at.ListenerConfig)
		}
		all = append(all, listener)
	}
	return all
}

// files are the files and folders of the configuration that decide who clients are and
// what they may do, or hold secrets.
func (l loaded) files() (all []doctor.File) {
	add := func(key, path string, secret bool) {
		if path != "" {
			all = append(all, doctor.File{Key: key, Path: path, Secret: secret})
		}
	}
	if l.Storage.Backend == string(chosen.Embedded) {
		add("storage.dir", l.Storage.Dir, true)
	}
	add("sasl.users_file", l.SASL.Users.UsersFile, true)
	if !strings.Contains(l.SASL.OAuthBearer.JWKS, "://") {
		add("sasl.oauthbearer.jwks", l.SASL.OAuthBearer.JWKS, false)
	}
	for _, at := range append([]server.NamedListener{{Section: "tls.", ListenerConfig: server.ListenerConfig{
		Certificate: l.TLS.Certificate, Key: l.TLS.Key, ClientCA: l.TLS.ClientCA,
	}}}, l.Server.All()...) {
		add(at.Section+"certificate", at.Certificate, at.Key == "") // with the key in it
		add(at.Section+"key", at.Key, true)
		add(at.Section+"client_ca", at.ClientCA, false)
	}
	return all
}

// inspectIggy says what the Iggy server lets be seen of its settings.
func (l loaded) inspectIggy(ctx context.Context) []doctor.Finding {
	defer stdlog.SetOutput(stdlog.Writer())
	stdlog.SetOutput(io.Discard) // where the Iggy SDK tells of each login
	advice, err := iggy.Inspect(ctx, l.Iggy, l.Authorization.Authorizer == iggypermissions.Name, zap.NewNop())
	if err != nil {
		return []doctor.Finding{{Check: "iggy", Status: doctor.Fail, Text: err.Error(), Remedy: "start the Iggy server, or correct the section iggy of the configuration"}}
	}
	findings := []doctor.Finding{{Check: "iggy", Status: doctor.OK, Text: "the Iggy server at " + l.Iggy.Address + " lets the gateway in"}}
	for _, a := range advice {
		finding := doctor.Finding{Check: "iggy", Status: doctor.Note}
		switch {
		case a.Fatal:
			finding.Status = doctor.Fail
		case a.Serious:
			finding.Status = doctor.Warn
		}
		finding.Text, finding.Remedy, _ = strings.Cut(a.Text, "; ")
		for _, f := range a.Fields {
			value := zapcore.NewMapObjectEncoder()
			f.AddTo(value)
			finding.Text += fmt.Sprintf(" (%s %v)", f.Key, value.Fields[f.Key])
		}
		findings = append(findings, finding)
	}
	return findings
}
