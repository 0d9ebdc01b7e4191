// Package permissions looks whether files that decide who may do what can be read, or
// changed, by users of the machine who have nothing to do with the gateway.
package permissions

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// The bits of a mode that are about those who neither own a file nor are of its group.
const (
	othersRead   = fs.FileMode(0o004)
	othersWrite  = fs.FileMode(0o002)
	othersSearch = fs.FileMode(0o001)
)

// Others reports whether everybody on this machine can read a file, or what is in a
// folder, and whether everybody can change it or put another one in its place. Links
// are followed. Where nobody knows, as on systems without these permissions, both are
// false.
func Others(path string) (read, change bool) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	info, failed := os.Stat(path)
	if err != nil || failed != nil || runtime.GOOS == "windows" {
		return false, false
	}
	reading := othersRead
	if info.IsDir() {
		reading |= othersSearch // names of files can be guessed
	}
	read, change = info.Mode()&reading != 0, info.Mode()&othersWrite != 0
	for folder, nearest := filepath.Dir(path), true; ; folder, nearest = filepath.Dir(folder), false {
		info, err := os.Stat(folder)
		if err != nil || info.Mode()&othersSearch == 0 {
			return false, false // others do not get there
		}
		// In a sticky folder everybody replaces only what is theirs.
		if nearest && info.Mode()&othersWrite != 0 && info.Mode()&fs.ModeSticky == 0 {
			change = true
		}
		if folder == filepath.Dir(folder) {
			return read, change
		}
	}
}
