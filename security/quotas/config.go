package quotas

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/iggykafka/gateway/core/security"
)

// The keepers of the project.
const (
	None   = "none"   // nobody bounds anything
	Stored = "stored" // the quotas in the backend
)

// Config is the section "quotas".
type Config struct {
	// Keeper says who bounds what clients use (default stored: the quotas that
	// kafka-configs manages, and below them those of this section; none: nobody).
	Keeper string `koanf:"keeper"`
	// ProducerByteRate bounds what each client produces, in bytes a second, where no
	// quota was set for it (default 0: any). A client, here and below, is a user with
	// a client id.
	ProducerByteRate int64 `koanf:"producer_byte_rate"`
	// ConsumerByteRate bounds what each client fetches, in bytes a second, where no
	// quota was set for it (default 0: any).
	ConsumerByteRate int64 `koanf:"consumer_byte_rate"`
	// RequestPercentage bounds the time that the requests of each client take, in
	// percent of one processor, where no quota was set for it (default 0: any).
	RequestPercentage float64 `koanf:"request_percentage"`
	// ControllerMutationRate bounds the partitions that each client creates and
	// deletes, a second, where no quota was set for it (default 0: any).
	ControllerMutationRate float64 `koanf:"controller_mutation_rate"`
	// ConnectionCreationRate bounds the connections of each address, a second, where
	// no quota was set for it (default 0: any).
	ConnectionCreationRate float64 `koanf:"connection_creation_rate"`
	// Windows is how many windows the use of a client is summed up over (default 11;
	// in Kafka quota.window.num).
	Windows int `koanf:"windows"`
	// WindowSize is how long a window is (default 1s; as
	// quota.window.size.seconds in Kafka).
	WindowSize time.Duration `koanf:"window_size"`
	// MaxAccounts is how many clients are told apart at once; above it the new
	// ones of a user share accounts until others have been idle for all windows (default 100000). One
	// takes about half a KiB.
	MaxAccounts int `koanf:"max_accounts"`
	// MaxQuotas is the most users, client ids and addresses, with defaults and pairs,
	// that clients may set quotas for (default 10000; 0: any number).
	MaxQuotas int `koanf:"max_quotas"`
}

// DefaultConfig returns the section of a gateway that was told nothing.
func DefaultConfig() Config {
	return Config{Keeper: Stored, Windows: 11, WindowSize: time.Second, MaxAccounts: 100_000, MaxQuotas: 10_000}
}

// The most that the section allows.
const (
	mostWindows = 1000
	longest     = time.Hour // of a window
)

// Validate names every fault of the section, one a line, each with its key.
func (c Config) Validate() error {
	var faults []error
	fault := func(key, format string, args ...any) {
		faults = append(faults, fmt.Errorf("quotas.%s: %s", key, fmt.Sprintf(format, args...)))
	}
	for _, rate := range []struct {
		key   string
		value float64
	}{
		{"producer_byte_rate", float64(c.ProducerByteRate)},
		{"consumer_byte_rate", float64(c.ConsumerByteRate)},
		{"request_percentage", c.RequestPercentage},
		{"controller_mutation_rate", c.ControllerMutationRate},
		{"connection_creation_rate", c.ConnectionCreationRate},
	} {
		if !(rate.value >= 0) || math.IsInf(rate.value, 1) {
			fault(rate.key, "%v is no rate; set 0 for none, or more", rate.value)
		}
	}
	if c.Windows < 2 || c.Windows > mostWindows {
		fault("windows", "%d is out of range; set 2 to %d", c.Windows, mostWindows)
	}
	if c.WindowSize < time.Millisecond || c.WindowSize > longest {
		fault("window_size", "%s is out of range; set 1ms to %s", c.WindowSize, longest)
	}
	if c.MaxAccounts < 1 {
		fault("max_accounts", "%d is out of range; set 1 or more", c.MaxAccounts)
	}
	if c.MaxQuotas < 0 {
		fault("max_quotas", "%d is out of range; set 0 for any number, or more", c.MaxQuotas)
	}
	return errors.Join(faults...)
}

// of returns the rate of a kind, 0 for none.
func (c Config) of(kind security.QuotaKind) float64 {
	switch kind {
	case security.ProducedBytes:
		return float64(c.ProducerByteRate)
	case security.FetchedBytes:
		return float64(c.ConsumerByteRate)
	case security.RequestTime:
		return c.RequestPercentage
	case security.PartitionChanges:
		return c.ControllerMutationRate
	}
	return 0
}
