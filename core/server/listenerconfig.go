package server

import (
	"maps"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
)

// DefaultListener is the name of the listener that keys without a section
// describe: listen, advertise, protocol and mechanisms.
const DefaultListener = "default"

// ListenerConfig is one listener, a section of "listeners" named after it.
type ListenerConfig struct {
	// Listen is the address to listen on, host:port. Port 0 picks a free one
	// (default "": none, so every listener has to say it).
	Listen string `koanf:"listen"`
	// Advertise is the address that its clients are told to connect to, host or
	// host:port (default "": the address that listen got).
	Advertise string `koanf:"advertise"`
	// Protocol says how connections are secured: PLAINTEXT, SSL, SASL_PLAINTEXT or
	// SASL_SSL (default PLAINTEXT).
	Protocol string `koanf:"protocol"`
	// Mechanisms lists the ways to log in here, of those in sasl.mechanisms
	// (default "": all of them).
	Mechanisms []string `koanf:"mechanisms"`
	// Certificate takes the place of tls.certificate: a PEM file (default "": that
	// one).
	Certificate string `koanf:"certificate"`
	// Key takes the place of tls.key: a PEM file (default "": that one).
	Key string `koanf:"key"`
	// ClientCA takes the place of tls.client_ca: a PEM file (default "": that one).
	ClientCA string `koanf:"client_ca"`
	// ClientAuth takes the place of tls.client_auth: none, requested or required
	// (default "": that one).
	ClientAuth string `koanf:"client_auth"`
	// MaxConnections is the number of connections that the listener serves at once
	// (default 0: max_connections alone holds).
	MaxConnections int `koanf:"max_connections"`
	// ConnectionRate is the number of connections a second that it takes, after as
	// many at once (default 0: any). The others wait.
	ConnectionRate float64 `koanf:"connection_rate"`
}

// Default returns a listener as it is before its section says anything.
func (ListenerConfig) Default() ListenerConfig { return ListenerConfig{Protocol: Plaintext} }

// NamedListener is a listener with the name that it has in the configuration.
type NamedListener struct {
	Name string
	// Section goes before the names of its keys: "listeners.external.", or "" for
	// the default listener.
	Section string
	ListenerConfig
}

// All returns the listeners that the configuration describes: the default one,
// if there is one, and then those of the section listeners by their names.
func (c Config) All() []NamedListener {
	var all []NamedListener
	if c.Listen != "" {
		all = append(all, NamedListener{DefaultListener, "", ListenerConfig{
			Listen: c.Listen, Advertise: c.Advertise, Protocol: c.Protocol, Mechanisms: c.Mechanisms,
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Listeners)) {
		all = append(all, NamedListener{name, "listeners." + name + ".", c.Listeners[name]})
	}
	for i := range all {
		if all[i].Protocol == "" {
			all[i].Protocol = Plaintext
		}
	}
	return all
}

// listenerNames are names that the environment can spell, too.
var listenerNames = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// checkListeners finds what is wrong with the listeners, alone and together.
func (c Config) checkListeners(fault func(format string, args ...any)) {
	all := c.All()
	if len(all) == 0 {
		fault(`listen: "" leaves no listener; set it to host:port, or add a section to listeners`)
	}
	for i, l := range all {
		l.check(fault)
		if l.Section != "" && l.Name == DefaultListener && c.Listen != "" {
			fault(`%slisten: listen describes the listener "default" already; give this one another name, or set listen to ""`, l.Section)
		}
		for _, before := range all[:i] {
			if OnePort(before.Listen, l.Listen) {
				fault("%slisten: %q is the port of %slisten, %q, too; each listener needs its own", l.Section, l.Listen, before.Section, before.Listen)
			}
		}
	}
}

// check finds what is wrong with one listener.
func (l NamedListener) check(fault func(format string, args ...any)) {
	if !listenerNames.MatchString(l.Name) {
		fault("%slisten: %q is no name for a listener; write lower-case letters, digits, - and _, a letter first", l.Section, l.Name)
	}
	host, _, err := splitAddress(l.Listen, 0)
	switch {
	case l.Listen == "":
		fault("%slisten: is missing; set the address to listen on, host:port", l.Section)
	case err != nil:
		fault("%slisten: %w", l.Section, err)
	}
	if l.Advertise == "" {
		if err == nil && wildcard(host) {
			fault("%slisten: %q names no single address that clients could be told; set %sadvertise to the host:port they reach",
				l.Section, l.Listen, l.Section)
		}
	} else if _, _, err := parseAdvertise(l.Advertise); err != nil {
		fault("%sadvertise: %w", l.Section, err)
	}
	if l.MaxConnections < 0 {
		fault("%smax_connections: %d is negative", l.Section, l.MaxConnections)
	}
	checkRate(fault, l.Section+"connection_rate", l.ConnectionRate)
}

func checkRate(fault func(format string, args ...any), key string, rate float64) {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		fault("%s: %v is not a number of connections a second", key, rate)
	}
}

// OnePort reports whether two addresses cannot both be listened on. Ports that
// are picked never clash; names of hosts are compared as they are written.
func OnePort(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	numberA, _ := strconv.Atoi(portA)
	numberB, _ := strconv.Atoi(portB)
	return numberA != 0 && numberA == numberB && (hostA == hostB || wildcard(hostA) || wildcard(hostB))
}
