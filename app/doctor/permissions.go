package doctor

import (
	"fmt"

	"github.com/iggykafka/gateway/core/permissions"
)

// File is a file, or a folder, that nobody but the gateway should have to do with.
type File struct {
	Key  string // that names it: "sasl.users_file"
	Path string
	// Secret says that it must not be read by others. None may be changed by them:
	// it decides who clients are, or what they may do.
	Secret bool
}

// permissions looks who can get at the files.
func (s Setup) permissions() (findings []Finding) {
	const check = "permissions"
	warn := func(f File, can, mode string) {
		findings = append(findings, found(check, Warn, fmt.Sprintf("every user of this machine can %s %s (%s)", can, f.Path, f.Key),
			fmt.Sprintf("take that away (chmod %s %s)", mode, f.Path)))
	}
	for _, f := range s.Files {
		switch read, change := permissions.Others(f.Path); {
		case change:
			warn(f, "change", "o-w")
		case read && f.Secret:
			warn(f, "read", "o-rwx")
		}
	}
	return findings
}
