package users

// Config is the part of the section "sasl" that is about users.
type Config struct {
	// UsersFile is a file with users who may log in by SCRAM, a line each, as
	// "kafka-gateway scram NAME" prints them (default "": none). It is read again
	// when it changes. Its users cannot be altered by clients.
	UsersFile string `koanf:"users_file"`
}
