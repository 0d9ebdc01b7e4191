package iggy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend/iggy/client"
)

const (
	// knownVersion is the version whose behaviour the gateway was made for.
	knownVersion = "0.8.0"
	// checkTimeout bounds the look at the server after a start.
	checkTimeout = 30 * time.Second
	// inspectPatience is how long, beyond iggy.connect_timeout, who looks from
	// outside waits for a server that takes connections and says nothing.
	inspectPatience = time.Second
	// checkTopic is the topic of the internal stream that the look writes to. It is
	// kept for the next start, up to checkBytes: a server that is killed in the
	// moment in which it deletes a topic does not start again.
	checkTopic = "check"
	checkBytes = 64 << 20
)

// Advice is what is to be said of a server's settings.
type Advice struct {
	// Fatal: the gateway does not start.
	Fatal bool
	// Serious: data is lost, or something does not work.
	Serious bool
	// Text says what there is and what to do.
	Text string
	// Fields are the names and values that it is about.
	Fields []zap.Field
}

// inspector looks at what a server lets a client see of its settings, and says in
// one line each what loses data or does not work, and what to do. It is silent
// where it cannot be certain.
type inspector struct {
	cfg    Config
	server server
	tell   func(Advice)
}

func (i inspector) warn(text string, fields ...zap.Field) {
	i.tell(Advice{Serious: true, Text: text, Fields: fields})
}

func (i inspector) note(text string, fields ...zap.Field) {
	i.tell(Advice{Text: text, Fields: fields})
}

// check is the look at the server after a start.
func (s *Store) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	i := inspector{s.cfg, s.server, func(a Advice) {
		switch {
		case s.life.Err() != nil:
			// The store ends: nobody asks any more.
		case a.Serious:
			s.log.Warn(a.Text, a.Fields...)
		default:
			s.log.Info(a.Text, a.Fields...)
		}
	}}
	i.checkServer(ctx)
	i.checkAddress(ctx)
	i.checkTopics(s.catalog.topics())
	i.checkSaving(ctx)
}

// Inspect looks at the server of a configuration from outside, beside a gateway
// that may run: as the start does, but for the topics. It leaves messages of 256
// KiB or more in the topic "check" of the internal stream, if a
// gateway has used that. An error says that the server cannot be asked.
//
// users says that the gateway is to ask what users may do (authorization.authorizer:
// iggy). Whoever has the server check passwords (sasl.plain.passwords: iggy) needs no
// permission for it: each is a login of its own.
func Inspect(ctx context.Context, cfg Config, users bool, log *zap.Logger) ([]Advice, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	c, err := connect(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var advice []Advice
	i := inspector{cfg, c, func(a Advice) { advice = append(advice, a) }}
	i.checkServer(ctx)
	i.checkAddress(ctx)
	if users {
		i.checkUsers(ctx)
	}
	if topics, err := c.Topics(ctx, cfg.InternalStream); err == nil && len(topics) > 0 {
		i.checkSaving(ctx)
	} else {
		i.note("no gateway has used the internal stream yet, so it was not looked whether Iggy saves messages before it answers; look again when a gateway has run",
			zap.String("stream", cfg.InternalStream))
	}
	return advice, nil
}

// connect returns a small client of a server that is there. A gateway that starts
// waits for its server; who looks wants to know at once that it is away, and why.
func connect(ctx context.Context, cfg Config, log *zap.Logger) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout+inspectPatience)
	defer cancel()
	cfg.Connections = client.Connections{Send: 1, Poll: 1, Admin: 1}
	c, err := client.New(cfg.Config, client.Options{Log: log})
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: cfg.ConnectTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("iggy.address: no connection to the Iggy server at %s: %w", cfg.Address, err)
	}
	_ = conn.Close()
	return c, c.Start(ctx)
}

func (i inspector) checkSaving(ctx context.Context) {
	switch saved, err := i.savesAtOnce(ctx); {
	case err != nil:
		i.note("the gateway cannot see whether Iggy saves messages before it answers; unless system.partition.messages_required_to_save is 1, a kill of the server loses acknowledged records, and a loss of power does unless system.partition.enforce_fsync is true")
	case saved:
		i.note("Iggy seems to save messages before it answers; unless system.partition.enforce_fsync is true, which the gateway cannot see, a loss of power still loses acknowledged records")
	default:
		i.warn("Iggy answers before it saves messages: a kill of the server loses acknowledged records; set system.partition.messages_required_to_save = 1 (IGGY_SYSTEM_PARTITION_MESSAGES_REQUIRED_TO_SAVE), and enforce_fsync = true against the loss of power")
	}
}

func (i inspector) checkServer(ctx context.Context) {
	stats, err := i.server.Stats(ctx)
	switch {
	case client.Code(err) == ierror.UnauthorizedCode:
		i.warn("the user may not read server information: after a lost connection the gateway has to wait until it is certain what became of a request; give it the permission read_servers",
			zap.String("user", i.cfg.Username))
	case err == nil && stats.IggyServerVersion != knownVersion:
		i.warn("the gateway was made for another version of Iggy; read docs/iggy.md before data depends on it",
			zap.String("version", stats.IggyServerVersion), zap.String("made_for", knownVersion))
	}
}

// checkUsers looks whether the server tells who its users are and what they may do.
func (i inspector) checkUsers(ctx context.Context) {
	switch _, err := i.server.UserNames(ctx); {
	case client.Code(err) == ierror.UnauthorizedCode:
		i.tell(Advice{Fatal: true, Serious: true, Fields: []zap.Field{zap.String("user", i.cfg.Username)},
			Text: "the user may not read users, so that the gateway does not start with authorization.authorizer: iggy; give it the permission read_users"})
	case err != nil:
		i.note("the gateway cannot see whether its user may read users, which authorization.authorizer: iggy needs; look again when the Iggy server answers", zap.Error(err))
	}
}

// checkAddress warns of passwords and records in the clear on a public network.
func (i inspector) checkAddress(ctx context.Context) {
	host, _, err := net.SplitHostPort(i.cfg.Address)
	if err != nil || i.cfg.TLS.Enabled {
		return
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return
	}
	for _, ip := range found {
		if public(ip.Unmap()) {
			i.warn("the connection to Iggy is not encrypted and its address is public; set iggy.tls.enabled",
				zap.String("address", i.cfg.Address), zap.Stringer("ip", ip))
			return
		}
	}
}

func public(ip netip.Addr) bool {
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast() && !ip.IsUnspecified()
}

// checkTopics looks at the settings of topics.
func (i inspector) checkTopics(topics []*topic) {
	expires := false
	for _, t := range topics {
		has := t.seen.has
		if has.size == 0 {
			i.warn("a topic was made with the server's default size, which Iggy reads as 0 after a restart: its cleaner deletes all but the last segment of each partition; set retention.bytes of the topic, -1 for no limit",
				zap.String("topic", t.info.Name))
		}
		expires = expires || has.ms() != -1 || has.bytes(1) != -1
	}
	if expires {
		i.note("there are topics with retention; Iggy applies it only where data_maintenance.messages.cleaner_enabled is true, which the gateway cannot see, and to whole segments")
	}
}

// savesAtOnce finds out whether a message is on its way to the disk before the
// server answers: the server tells how many bytes it has written, so a message
// larger than a page either shows or does not. That the count can be trusted is
// seen from more than any server keeps back. An error means that it is not known.
func (i inspector) savesAtOnce(ctx context.Context) (bool, error) {
	const (
		little = 256 << 10 // below system.partition.size_of_messages_required_to_save, 1 MiB by default
		much   = 4 << 20   // and above it
	)
	at := client.Topic{Stream: i.cfg.InternalStream, Name: checkTopic}
	if err := i.ensureCheckTopic(ctx, at); err != nil {
		return false, err
	}
	saved, err := i.shows(ctx, at, little)
	if err != nil || saved {
		return saved, err
	}
	more, err := i.written(ctx, at, much)
	if err != nil {
		return false, err
	}
	if more < much/2 {
		return false, errNotSeen
	}
	return false, nil
}

// shows says whether messages of a size show among what the server has written, each
// of two. One alone may be covered by what others have the server write meanwhile, as
// doctor by a gateway that has just started and looks as well.
func (i inspector) shows(ctx context.Context, at client.Topic, size int) (bool, error) {
	for range 2 {
		n, err := i.written(ctx, at, size)
		if err != nil || n < size/2 {
			return false, err
		}
	}
	return true, nil
}

// written sends a message of a size and returns how many bytes the server has
// written meanwhile.
func (i inspector) written(ctx context.Context, at client.Topic, size int) (int, error) {
	before, err := i.server.Stats(ctx)
	if err != nil {
		return 0, err
	}
	m, err := iggcon.NewIggyMessage(make([]byte, size))
	if err != nil {
		return 0, err
	}
	if err := i.server.Send(ctx, at, 0, []iggcon.IggyMessage{m}); err != nil {
		return 0, err
	}
	after, err := i.server.Stats(ctx)
	if err != nil {
		return 0, err
	}
	return int(after.WrittenBytes - before.WrittenBytes), nil
}

// ensureCheckTopic makes the topic, anew where many starts have filled it.
func (i inspector) ensureCheckTopic(ctx context.Context, at client.Topic) error {
	topics, err := i.server.Topics(ctx, at.Stream)
	if err != nil {
		return err
	}
	if n := slices.IndexFunc(topics, func(t iggcon.Topic) bool { return t.Name == at.Name }); n >= 0 {
		if topics[n].Size < checkBytes {
			return nil
		}
		if err := i.server.DeleteTopic(ctx, at); err != nil {
			return err
		}
	}
	_, err = i.server.CreateTopic(ctx, at, client.TopicSettings{Partitions: 1, Expiry: iggcon.IggyExpiryNeverExpire, MaxSize: unlimited})
	return err
}
