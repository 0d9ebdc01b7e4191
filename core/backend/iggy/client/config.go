package client

import (
	"errors"
	"math"
	"net"
	"strconv"
	"time"
)

// Config says how to reach an Iggy server: the part of the section "iggy" that
// is about connections.
type Config struct {
	// Address is the host:port of the Iggy server's TCP listener (default
	// 127.0.0.1:8090).
	Address string `koanf:"address"`
	// Username is the user that the gateway logs in as (default iggy, which is
	// the root user of a new Iggy server).
	Username string `koanf:"username"`
	// Password is the password of that user (default iggy). It is never logged or
	// shown.
	Password string `koanf:"password"`
	// Token is a personal access token; when it is set it takes the place of
	// username and password (default "": they are used). It is never logged or
	// shown.
	Token string `koanf:"token"`
	TLS   TLS    `koanf:"tls"`
	// Connections are the connections to the server, by what they carry.
	Connections Connections `koanf:"connections"`
	// RequestTimeout is how long the server may take to answer one request, and
	// 40ms more for each partition that the request makes or deletes, or another
	// one beside it; the connection is given up then (default 5s).
	RequestTimeout time.Duration `koanf:"request_timeout"`
	// ConnectTimeout is how long a connection may take until the server has
	// accepted the login (default 5s).
	ConnectTimeout time.Duration `koanf:"connect_timeout"`
	// MaxBackoff is the longest wait between two attempts to connect (default
	// 1s).
	MaxBackoff time.Duration `koanf:"max_backoff"`
	// MaxReplyBytes is the largest reply that is taken from the server (default
	// 128MiB); at least a message of the largest size that Iggy stores.
	MaxReplyBytes int64 `koanf:"max_reply_bytes"`
}

// TLS is the section "iggy.tls".
type TLS struct {
	// Enabled encrypts the connections to the Iggy server (default false: good
	// for servers on the loopback interface or a private network).
	Enabled bool `koanf:"enabled"`
	// CAFile is a file of PEM certificates that the server's is checked against
	// (default "": those of the operating system).
	CAFile string `koanf:"ca_file"`
	// ServerName is the name that the server's certificate must have (default
	// "": the host of iggy.address).
	ServerName string `koanf:"server_name"`
}

// Connections is the section "iggy.connections". Each connection has one
// request in flight.
type Connections struct {
	// Send is the number of connections that write records; the partitions are
	// spread over them (default 4).
	Send int `koanf:"send"`
	// Poll is the number of connections that read records (default 4).
	Poll int `koanf:"poll"`
	// Admin is the number of connections for topics and everything else (default
	// 2). Commits have one of their own.
	Admin int `koanf:"admin"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Address: "127.0.0.1:8090", Username: "iggy", Password: "iggy",
		Connections:    Connections{Send: 4, Poll: 4, Admin: 2},
		RequestTimeout: 5 * time.Second, ConnectTimeout: 5 * time.Second, MaxBackoff: time.Second,
		MaxReplyBytes: 128 << 20,
	}
}

// leastReply is the smallest bound on a reply: a message of the largest size that
// Iggy stores, with its headers.
const leastReply = 65 << 20

// Validate reports all faults, each with the key's full name.
func (c Config) Validate() error {
	var faults []error
	demand := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, errors.New(fault))
		}
	}
	host, port, err := net.SplitHostPort(c.Address)
	number, notNumber := strconv.ParseUint(port, 10, 16)
	demand(err == nil && host != "" && notNumber == nil && number > 0, "iggy.address: must be host:port, with a port from 1 to 65535")
	if c.Token == "" {
		demand(c.Username != "" && len(c.Username) <= maxName, "iggy.username: must have 1 to 255 bytes")
		demand(c.Password != "" && len(c.Password) <= maxName, "iggy.password: must have 1 to 255 bytes")
	}
	demand(len(c.Token) <= maxName, "iggy.token: must have at most 255 bytes")
	demand(c.Connections.Send >= 1 && c.Connections.Send <= maxConnections, "iggy.connections.send: must be from 1 to 1000")
	demand(c.Connections.Poll >= 1 && c.Connections.Poll <= maxConnections, "iggy.connections.poll: must be from 1 to 1000")
	demand(c.Connections.Admin >= 1 && c.Connections.Admin <= maxConnections, "iggy.connections.admin: must be from 1 to 1000")
	demand(c.RequestTimeout > 0, "iggy.request_timeout: must be above 0")
	demand(c.ConnectTimeout > 0, "iggy.connect_timeout: must be above 0")
	demand(c.MaxBackoff > 0, "iggy.max_backoff: must be above 0")
	demand(c.MaxReplyBytes >= leastReply && c.MaxReplyBytes <= math.MaxUint32,
		"iggy.max_reply_bytes: must be between 65MiB and 4GiB")
	demand(c.TLS.Enabled || c.TLS.CAFile == "", "iggy.tls.ca_file: is of no use unless iggy.tls.enabled is true")
	demand(c.TLS.Enabled || c.TLS.ServerName == "", "iggy.tls.server_name: is of no use unless iggy.tls.enabled is true")
	return errors.Join(faults...)
}

// maxConnections is far more than a server gains from: each has one request in
// flight.
const maxConnections = 1000

// maxName is what the protocol's length of a name holds.
const maxName = 255
