package users

import "fmt"

// Config is the part of the section "sasl" that is about users.
type Config struct {
	// UsersFile is a file with users who may log in by SCRAM, a line each, as
	// "kafka-gateway scram NAME" prints them (default "": none). It is read again
	// when it changes. Its users cannot be altered by clients.
	UsersFile string `koanf:"users_file"`
	// MaxCredentials is the most credentials that clients may store, for SCRAM
	// (default 100000; 0: any number). A user has at most one of each mechanism. One
	// takes about half a KiB and its name.
	MaxCredentials int `koanf:"max_credentials"`
}

// DefaultConfig returns the part of a gateway that was told nothing.
func DefaultConfig() Config { return Config{MaxCredentials: 100_000} }

// Validate names what is wrong, with its key.
func (c Config) Validate() error {
	if c.MaxCredentials < 0 {
		return fmt.Errorf("sasl.max_credentials: %d is out of range; set 0 for any number, or more", c.MaxCredentials)
	}
	return nil
}
