package app

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/topicconfig"
)

// Options gives the modules of a gateway what they ask for: each its section of
// the configuration, the log, the metrics. It serves nothing by itself:
//
//	fx.New(app.Options(app.DefaultConfig(), log), gateway.Plugins()).Run()
func Options(c Config, log *zap.Logger) fx.Option {
	return loaded{Config: c}.options(log)
}

func (l loaded) options(log *zap.Logger) fx.Option {
	c := l.Config
	if c.Storage.Backend == string(chosen.Memory) {
		c.Storage.Dir = "memory" // only a name now, for messages
	}
	return fx.Options(
		fx.WithLogger(func() fxevent.Logger { return fxEvents(log) }),
		fx.Supply(
			log,
			c.Server, c.Admin, c.Metrics, c.Tracing, c.Telemetry, c.Groups, chosen.Choice(c.Storage.Backend), c.Storage.Config, c.Iggy,
			c.Topics, c.Fetch, c.Offsets, c.Authorization, c.Quotas,
			c.TLS, c.Audit,
			c.SASL.Logins, c.SASL.Users, c.SASL.Plain, c.SASL.Iggy, c.SASL.OAuthBearer,
			iggy.Options{ProducerExpiration: c.Producer.IDExpiration},
			settings.Describe{PartitionsMax: c.DescribePartitionsMax},
			&settings.Node{ID: c.NodeID},
		),
		fx.Provide(
			newRegistry,
			func(r *prometheus.Registry) prometheus.Registerer { return r },
			l.catalog,
			l.broker,
			l.store,
		),
	)
}

// catalog returns the topic configs, with the defaults that the user set.
func (l loaded) catalog() (*topicconfig.Catalog, error) {
	defaults := map[string]string{}
	if l.Message.MaxBytes != DefaultConfig().Message.MaxBytes {
		defaults[topicconfig.MaxMessageBytes] = fmt.Sprint(l.Message.MaxBytes)
	}
	return topicconfig.NewCatalog(defaults)
}

// store returns what the embedded store needs besides its section.
func (l loaded) store(log *zap.Logger) embedded.Options {
	options := embedded.Options{Log: log.Named("storage"), ProducerExpiration: l.Producer.IDExpiration}
	if l.Storage.Backend == string(chosen.Memory) {
		options.FS, options.Volatile = vfs.NewMem(), true
	}
	return options
}
