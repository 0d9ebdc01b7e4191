package admin

import (
	"fmt"
	"net"
	"strconv"
)

// Config is the section "admin".
type Config struct {
	// Listen is the address of the admin listener, host:port: metrics, health
	// and pages for people, over HTTP (default 127.0.0.1:9644; "": none). Port 0
	// picks a free one. Nobody is asked for a password, so leave it on an address
	// that only operators reach.
	Listen string `koanf:"listen"`
	// Pprof serves the profiles of the Go runtime at /debug/pprof/ of the admin
	// listener (default false). Taking one costs time, and they show file names
	// and command-line flags.
	Pprof bool `koanf:"pprof"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{Listen: "127.0.0.1:9644"} }

// Validate returns what is wrong with the configuration, with the name of the
// key; nil when nothing is.
func (c Config) Validate() error {
	if c.Listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("admin.listen: %q is not an address; write host:port, such as 127.0.0.1:9644, or \"\" for none", c.Listen)
	}
	return nil
}
