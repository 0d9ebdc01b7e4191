package embedded

import (
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/topicconfig"
)

// Config is what the embedded store takes from the section "storage" of the
// configuration file.
type Config struct {
	// Dir is the data directory; it is made when missing. Default ./data.
	Dir string `koanf:"dir"`
	// Sync waits for the disk before anything is acknowledged, so that it
	// survives the loss of power. Default false: acknowledged data survives the
	// end of the process, and the operating system writes it to disk in its own
	// time, as with a Kafka broker.
	Sync bool `koanf:"sync"`
	// OpenFiles bounds the segment files held open. Default 1000; at least 16.
	OpenFiles int `koanf:"open_files"`
	// RetentionInterval is the time between two checks for segments that
	// retention.ms or retention.bytes let go. Default 5m; at least 1s.
	RetentionInterval time.Duration `koanf:"retention_interval"`
	Compaction        Compaction    `koanf:"compaction"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Dir: "./data", OpenFiles: 1000, RetentionInterval: 5 * time.Minute, Compaction: defaultCompaction()}
}

// Validate reports all faults, each with the key's full name.
func (c Config) Validate() error {
	var faults []error
	if c.Dir == "" {
		faults = append(faults, errors.New("storage.dir: must name a directory"))
	}
	if c.OpenFiles < 16 {
		faults = append(faults, errors.New("storage.open_files: must be at least 16"))
	}
	if c.RetentionInterval < time.Second {
		faults = append(faults, errors.New("storage.retention_interval: must be at least 1s"))
	}
	return errors.Join(append(faults, c.Compaction.validate())...)
}

// Resolver gives the effective values for a topic's config overrides;
// *topicconfig.Catalog is one.
type Resolver interface {
	Resolve(overrides map[string]string) topicconfig.Config
}

// Options are what the store needs besides its configuration. The zero value is
// good: every field says what zero means.
type Options struct {
	// FS holds the files; nil means the operating system's. vfs.NewMem() makes
	// a store in memory.
	FS vfs.FS
	// Volatile says that nothing has to outlive the process unless it is closed, as
	// where files are in memory: the metadata store goes without its log.
	Volatile bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets one line per event that an operator can act on; nil drops them.
	Log *zap.Logger
	// ProducerExpiration is how long the state of an idle producer is kept;
	// 0 means 24h.
	ProducerExpiration time.Duration
	// BootID names this run of the operating system; a start that finds the id
	// of the last run knows that nothing was lost between the page cache and
	// the disk, and reads less. Nil asks the system, where it has one.
	BootID func() string
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.ProducerExpiration == 0 {
		o.ProducerExpiration = 24 * time.Hour
	}
	if o.BootID == nil {
		o.BootID = bootID
	}
	return o
}
