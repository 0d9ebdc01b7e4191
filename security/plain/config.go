package plain

// Config is the section "sasl.plain".
type Config struct {
	// Passwords says who knows the passwords of users that log in by PLAIN (default
	// scram: the users with SCRAM credentials, with the same passwords). Programs
	// that are built with further ones may name those.
	Passwords string `koanf:"passwords"`
}

// Scram is the candidate over SCRAM credentials.
const Scram = "scram"

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{Passwords: Scram} }
