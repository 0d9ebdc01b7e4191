package app

import (
	"errors"
	"time"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/admin/metrics"
	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/sasl"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/core/settings"
	"github.com/iggykafka/gateway/core/telemetry"
	"github.com/iggykafka/gateway/core/tracing"
	"github.com/iggykafka/gateway/security/audit"
	"github.com/iggykafka/gateway/security/authorizer"
	"github.com/iggykafka/gateway/security/iggyusers"
	"github.com/iggykafka/gateway/security/oauthbearer"
	"github.com/iggykafka/gateway/security/plain"
	"github.com/iggykafka/gateway/security/quotas"
	"github.com/iggykafka/gateway/security/ssl"
	"github.com/iggykafka/gateway/security/users"
)

// Config is the whole configuration of the gateway. The tags are the keys'
// names: a section's name and a dot go before those in it. Each comment says
// the unit, the default and what zero means; --help and config.example.yaml
// show these very comments.
type Config struct {
	// Server holds the keys about connections and requests; they have no
	// section.
	Server server.Config `koanf:",squash"`
	// NodeID is the id of this node, the only broker that clients see
	// (default 1).
	NodeID int32 `koanf:"node_id"`
	// DescribePartitionsMax is the most partitions that one answer of
	// DescribeTopicPartitions holds (default 2000).
	DescribePartitionsMax int32 `koanf:"describe_partitions_max"`

	Storage  Storage            `koanf:"storage"`
	Iggy     iggy.Config        `koanf:"iggy"`
	Topics   settings.Topics    `koanf:"topics"`
	Message  Message            `koanf:"message"`
	Producer Producer           `koanf:"producer"`
	Fetch    settings.Fetch     `koanf:"fetch"`
	Offsets  settings.Offsets   `koanf:"offsets"`
	Groups   coordinator.Config `koanf:"groups"`
	Log      Log                `koanf:"log"`
	Admin    admin.Config       `koanf:"admin"`
	Metrics  metrics.Config     `koanf:"metrics"`
	Tracing  tracing.Config     `koanf:"tracing"`
	// Telemetry is about the metrics of clients, which they push (KIP-714).
	Telemetry telemetry.Config `koanf:"telemetry"`
	// TLS is about the listeners that are encrypted.
	TLS ssl.Config `koanf:"tls"`
	// SASL is about how clients log in.
	SASL SASL `koanf:"sasl"`
	// Authorization is about what clients may do.
	Authorization authorizer.Config `koanf:"authorization"`
	// Quotas is about how much clients may use.
	Quotas quotas.Config `koanf:"quotas"`
	// Audit is about what the log tells of what was refused.
	Audit audit.Config `koanf:"audit"`
}

// Storage is the section "storage".
type Storage struct {
	// Backend says where records and committed offsets are kept (default
	// embedded: files in storage.dir; memory: nowhere, all is lost at the end;
	// iggy: in the Apache Iggy server of the section iggy, and the other keys of
	// this section are not looked at).
	Backend         string `koanf:"backend"`
	embedded.Config `koanf:",squash"`
}

// SASL is the section "sasl".
type SASL struct {
	Logins sasl.Config  `koanf:",squash"`
	Users  users.Config `koanf:",squash"`
	Plain  plain.Config `koanf:"plain"`
	// Iggy is about the users of an Iggy server that log in by PLAIN.
	Iggy        iggyusers.Config   `koanf:"iggy"`
	OAuthBearer oauthbearer.Config `koanf:"oauthbearer"`
}

// Validate reports every value that cannot work, one line each.
func (s SASL) Validate() error {
	return errors.Join(s.Logins.Validate(), s.Users.Validate(), s.Iggy.Validate(), s.OAuthBearer.Validate())
}

// Message is the section "message".
type Message struct {
	// MaxBytes is the largest record batch, compressed, in bytes, of topics
	// that do not set max.message.bytes (default 1048588).
	MaxBytes int32 `koanf:"max_bytes"`
}

// Producer is the section "producer".
type Producer struct {
	// IDExpiration is how long the sequence numbers of an idle idempotent
	// producer are remembered (default 24h).
	IDExpiration time.Duration `koanf:"id_expiration"`
}

// Log is the section "log".
type Log struct {
	// Level is the least serious level that is logged to standard error:
	// debug, info, warn or error (default info).
	Level string `koanf:"level"`
	// Format is how log lines are written: console or json (default console).
	Format string `koanf:"format"`
}

// DefaultConfig returns the configuration of a gateway that was told nothing.
func DefaultConfig() Config {
	return Config{
		Server:                server.DefaultConfig(),
		NodeID:                1,
		DescribePartitionsMax: 2000,
		Storage:               Storage{Backend: string(chosen.Embedded), Config: embedded.DefaultConfig()},
		Iggy:                  iggy.DefaultConfig(),
		Topics: settings.Topics{
			AutoCreate: true, DefaultPartitions: 1, MaxNewPartitions: 10_000, DeleteEnable: true,
		},
		Message:   Message{MaxBytes: 1_048_588},
		Producer:  Producer{IDExpiration: 24 * time.Hour},
		Fetch:     settings.Fetch{MaxBytes: 57_671_680, MaxWait: 300 * time.Second},
		Offsets:   settings.Offsets{MetadataMax: 4096},
		Groups:    coordinator.DefaultConfig(),
		Log:       Log{Level: "info", Format: "console"},
		Admin:     admin.DefaultConfig(),
		Metrics:   metrics.DefaultConfig(),
		Tracing:   tracing.DefaultConfig(),
		Telemetry: telemetry.DefaultConfig(),

		SASL: SASL{
			Logins: sasl.DefaultConfig(), Users: users.DefaultConfig(), Plain: plain.DefaultConfig(),
			Iggy: iggyusers.DefaultConfig(), OAuthBearer: oauthbearer.DefaultConfig(),
		},
		Authorization: authorizer.DefaultConfig(),
		Quotas:        quotas.DefaultConfig(),
		TLS:           ssl.DefaultConfig(),
		Audit:         audit.DefaultConfig(),
	}
}
