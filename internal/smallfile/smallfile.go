// Package smallfile reads files that a configuration names: whatever is there, reading
// ends and fits into memory.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

var (
	errFolder  = errors.New("is a folder, not a file")
	errRegular = errors.New("is no regular file") // but a pipe or a device, which may never end
)

// Read returns what a file of at most so many bytes holds. Errors say of the file what is
// wrong ("is larger than 10 bytes"), for the caller to put its name before them.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path) // before Open, which waits at a pipe for somebody who writes
	switch {
	case err != nil:
		return nil, unreadable(err)
	case info.IsDir():
		return nil, errFolder
	case !info.Mode().IsRegular():
		return nil, errRegular
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case int64(len(content)) > most:
		return nil, fmt.Errorf("is larger than %d bytes", most)
	}
	return content, nil
}

// unreadable leaves out the path, which the caller tells.
func unreadable(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}
