package plain

// Config is the section "sasl.plain".
type Config struct {
	// Passwords says who knows the passwords of users that log in by PLAIN: scram, the
	// users with SCRAM credentials, with the same passwords; iggy, the users of the Iggy
	// server with theirs (default auto: iggy with storage.backend iggy, and else
	// scram). Programs that are built with further ones may name those.
	Passwords string `koanf:"passwords"`
}

const (
	// Auto leaves the choice to the candidates.
	Auto = "auto"
	// Scram is the candidate over SCRAM credentials.
	Scram = "scram"
)

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{Passwords: Auto} }
