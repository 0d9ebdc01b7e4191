// Package chosen is the backend that the configuration names: of those that the
// project has, it makes one and leaves the others alone.
package chosen

// Choice names a backend: the value of storage.backend.
type Choice string

// The backends of the project.
const (
	Embedded Choice = "embedded" // files in a directory
	Memory   Choice = "memory"   // the same store over files in memory
	Iggy     Choice = "iggy"     // an Apache Iggy server
)

// Choices returns the names of all backends.
func Choices() []string { return []string{string(Embedded), string(Memory), string(Iggy)} }
