package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/app/cli"
)

// ahead is how far in the future a record's time may be: clocks differ a little.
const ahead = time.Minute

// clients looks at what clients will find.
func (s Setup) clients(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 6*patience)
	defer cancel()
	client, err := cli.Connect(ctx, s.Bootstrap, s.Connection)
	if err != nil {
		var u *cli.Unreachable
		if errors.As(err, &u) {
			return []Finding{found("reachable", Fail, u.What(), u.Advice)}
		}
		return []Finding{found("reachable", Fail, err.Error(), "correct the flags of the connection")}
	}
	defer client.Close()
	meta, err := metadata(ctx, client)
	if err != nil {
		return []Finding{found("reachable", Fail, "the cluster does not answer Metadata: "+err.Error(), "look at its log")}
	}
	findings := []Finding{ok("reachable", "%s answers; cluster %s, %s", strings.Join(s.Bootstrap, ", "), *meta.ClusterID, english.Plural(len(meta.Topics), "topic", ""))}
	for _, broker := range meta.Brokers {
		findings = append(findings, s.advertised(ctx, *meta.ClusterID, broker))
	}
	admin := kadm.NewClient(client)
	if s.asksInVain() {
		findings = append(findings, undescribed)
	} else {
		findings = append(findings, disks(ctx, admin)...)
	}
	return append(findings, newest(ctx, admin, names(meta))...)
}

// metadata asks the addresses that clients are given, and not those that the
// cluster tells: where these lead is to be found out.
func metadata(ctx context.Context, client *kgo.Client) (meta *kmsg.MetadataResponse, err error) {
	for _, seed := range client.SeedBrokers() {
		var answer kmsg.Response
		if answer, err = seed.RetriableRequest(ctx, kmsg.NewPtrMetadataRequest()); err == nil {
			meta = answer.(*kmsg.MetadataResponse)
			if meta.ClusterID == nil {
				meta.ClusterID = kmsg.StringPtr("without an id")
			}
			return meta, nil
		}
	}
	return nil, err
}

// names returns the topics that are no part of the cluster's own works.
func names(meta *kmsg.MetadataResponse) (topics []string) {
	for _, topic := range meta.Topics {
		if topic.Topic != nil && !topic.IsInternal {
			topics = append(topics, *topic.Topic)
		}
	}
	return topics
}

// advertised looks whether the address that a broker tells leads to its cluster.
func (s Setup) advertised(ctx context.Context, cluster string, broker kmsg.MetadataResponseBroker) Finding {
	const check, remedy = "advertised", "set advertise to a host:port that every client can reach"
	address := net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port)))
	ip, _ := netip.ParseAddr(broker.Host)
	if ip.IsUnspecified() {
		return found(check, Fail, fmt.Sprintf("clients are sent to %s, which is no address to connect to", address), remedy)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := cli.Connect(ctx, []string{address}, s.Connection)
	if err != nil {
		return found(check, Fail, fmt.Sprintf("clients are sent to %s, but %v", address, err), remedy)
	}
	defer client.Close()
	there, err := kadm.NewClient(client).BrokerMetadata(ctx)
	switch {
	case err != nil:
		return found(check, Fail, fmt.Sprintf("clients are sent to %s, which does not answer Metadata: %v", address, err), remedy)
	case there.Cluster != cluster:
		return found(check, Fail, fmt.Sprintf("clients are sent to %s, where another cluster answers, %s", address, there.Cluster), remedy)
	case s.Local && loopback(broker.Host) && !loopback(host(s.listenerFor().Listen)):
		return found(check, Warn, fmt.Sprintf("the gateway listens on %s but sends clients to %s: those on other machines cannot follow", s.listenerFor().Listen, address), remedy)
	}
	return ok(check, "clients are sent to %s, which leads back here", address)
}

// undescribed is what is found of disks by who may not see them.
var undescribed = found("disk", Note, "how full the disks are is told to users who may DESCRIBE the cluster, and not to this one",
	"log in as one who may (kafka-acls --add --cluster --operation Describe), by the flags that doctor --help tells")

// asksInVain tells that a question for which it takes a right would only be refused, and
// leave a line in the audit: nobody logs in, and an authorizer decides.
func (s Setup) asksInVain() bool {
	c := s.Connection
	anonymous := c.User == "" && c.TokenFile == "" && c.Certificate == "" && c.CommandConfig == ""
	return s.Local && s.Authorizer && !s.Strangers && anonymous
}

// others tells which listeners are not asked: each wants another encryption or login, and
// one connection has one of each. A gateway that listens at one of them listens at all, or
// it does not start.
func (s Setup) others(asked Listener) []Finding {
	var left []string
	for _, l := range s.Listeners {
		if l.Key != asked.Key {
			left = append(left, fmt.Sprintf("%s (%s, %s)", l.Listen, l.Key, l.Protocol))
		}
	}
	if left == nil {
		return nil
	}
	return []Finding{found("reachable", Note, fmt.Sprintf("only %s (%s) is asked, and not %s", asked.Listen, asked.Key, strings.Join(left, ", ")),
		"ask the others, as their clients do, by --bootstrap with flags such as --ca and --user")}
}

// unasked is what is found where no listener is for who neither encrypts nor logs in: to
// ask one all the same would tell nothing of it, and leave a line in the audit. Whether
// somebody listens there is seen.
func (s Setup) unasked(ctx context.Context, at Listener) Finding {
	const check = "reachable"
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", reachable(at.Listen))
	if err != nil {
		return found(check, Fail, fmt.Sprintf("nobody listens on %s (%s): %v", at.Listen, at.Key, cause(err)), "start the gateway")
	}
	_ = conn.Close()
	var flags []string
	if at.Encrypted() {
		flags = append(flags, "--ca FILE")
	}
	if at.asks() {
		flags = append(flags, "--user NAME --password-file FILE")
	}
	return found(check, Note, fmt.Sprintf("somebody listens on %s (%s), and was not asked: its protocol is %s, and there are no flags for that", at.Listen, at.Key, at.Protocol),
		fmt.Sprintf("ask as its clients do, who are told %s: with %s", at.told(), strings.Join(flags, " ")))
}

// cause returns what the system says of a connection that did not come about.
func cause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

// disks looks at the room that is left, where the cluster tells.
func disks(ctx context.Context, admin *kadm.Client) (findings []Finding) {
	all, err := admin.DescribeAllLogDirs(ctx, kadm.TopicsSet{})
	if errors.As(err, new(*kadm.AuthError)) {
		return []Finding{undescribed}
	}
	if err != nil {
		return []Finding{found("disk", Note, "the cluster does not tell how full its disks are: "+err.Error(), "")}
	}
	all.Each(func(dir kadm.DescribedLogDir) {
		if dir.Err != nil {
			findings = append(findings, found("disk", Fail, fmt.Sprintf("%s of node %d: %v", cmp.Or(dir.Dir, "the log directory"), dir.Broker, dir.Err), "look at the node's log"))
			return
		}
		if dir.TotalBytes <= 0 || dir.UsableBytes < 0 {
			return
		}
		text := fmt.Sprintf("%s of node %d: %s of %s left", dir.Dir, dir.Broker, humanize.IBytes(uint64(dir.UsableBytes)), humanize.IBytes(uint64(dir.TotalBytes)))
		remedy := "free space, lower retention.ms or retention.bytes, or move " + moved(dir.Dir) + " to a larger disk"
		switch part := float64(dir.UsableBytes) / float64(dir.TotalBytes); {
		case part < 0.02:
			findings = append(findings, found("disk", Fail, text, remedy))
		case part < 0.10:
			findings = append(findings, found("disk", Warn, text, remedy))
		default:
			findings = append(findings, ok("disk", "%s", text))
		}
	})
	return findings
}

// moved names what lies on the disk of a log directory. With Iggy that is the server's
// data, and storage.dir is not looked at.
func moved(dir string) string {
	if strings.HasPrefix(dir, "iggy://") {
		return "the Iggy server's system.path"
	}
	return "storage.dir"
}

// newest looks for records from the future: retention by time and look-ups by
// time go wrong with them.
func newest(ctx context.Context, admin *kadm.Client, topics []string) []Finding {
	const check = "timestamps"
	if len(topics) == 0 {
		return nil
	}
	listed, err := admin.ListMaxTimestampOffsets(ctx, topics...)
	if err != nil {
		return []Finding{found(check, Note, "the cluster does not tell the newest timestamps: "+err.Error(), "")}
	}
	var worst kadm.ListedOffset
	listed.Each(func(l kadm.ListedOffset) {
		if l.Err == nil && l.Timestamp > worst.Timestamp {
			worst = l
		}
	})
	if by := time.Until(time.UnixMilli(worst.Timestamp)); by > ahead {
		return []Finding{found(check, Warn,
			fmt.Sprintf("the record at offset %d of %s/%d is from %s, %s in the future: a producer's clock, or this one, is wrong",
				worst.Offset, worst.Topic, worst.Partition, time.UnixMilli(worst.Timestamp).UTC().Format(time.RFC3339), by.Round(time.Second)),
			"set the producers' clocks by NTP; message.timestamp.type=LogAppendTime takes the cluster's time instead")}
	}
	return []Finding{ok(check, "no record is from the future")}
}

func host(address string) string {
	h, _, _ := net.SplitHostPort(address)
	return h
}

// reachable returns where this machine reaches a listener of its own.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// loopback tells whether only this machine can reach a host.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
