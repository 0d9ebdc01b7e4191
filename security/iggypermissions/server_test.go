package iggypermissions

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/iggy/client"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/core/topicconfig"
)

func TestMain(m *testing.M) { iggytest.Main(m) }

const (
	soon = 30 * time.Second
	tick = 5 * time.Millisecond
)

// store starts a store over a server, with the stream "kafka" and what change adds.
func store(t *testing.T, address string, change func(*iggy.Config)) *iggy.Store {
	t.Helper()
	cfg := iggy.DefaultConfig()
	cfg.Address, cfg.Username, cfg.Password = address, iggytest.Username, iggytest.Password
	cfg.RequestTimeout = time.Minute
	if change != nil {
		change(&cfg)
	}
	catalog, err := topicconfig.NewCatalog(nil)
	require.NoError(t, err)
	s := iggy.New(cfg, catalog, iggy.Options{})
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// sdk returns a client that is logged in as a user.
func sdk(t *testing.T, address, user, password string) iggcon.Client {
	t.Helper()
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(address))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.LoginUser(user, password)
	require.NoError(t, err)
	return c
}

func id[T uint32 | string](t *testing.T, value T) iggcon.Identifier {
	t.Helper()
	made, err := iggcon.NewIdentifier(value)
	require.NoError(t, err)
	return made
}

// open returns an authorizer over a store, whose answers are never old.
func open(t *testing.T, s Server) *Authorizer {
	a := New(s, Config{CacheTime: 2 * time.Nanosecond, StaleTime: time.Minute, MaxACLs: 10_000}, zap.NewNop())
	t.Cleanup(a.Close)
	return a
}

func (a *Authorizer) may(t *testing.T, user string, op kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) bool {
	return a.Authorize(t.Context(), security.Requester{Principal: security.User(user), Host: "127.0.0.1"}, op, security.Resource{Type: kind, Name: name})
}

// flags returns a value with each of its flags set alone, by name.
func flags[T any](prefix string) map[string]T {
	all := map[string]T{}
	for i := range reflect.TypeFor[T]().NumField() {
		if reflect.TypeFor[T]().Field(i).Type.Kind() != reflect.Bool {
			continue
		}
		var one T
		reflect.ValueOf(&one).Elem().Field(i).SetBool(true)
		all[prefix+reflect.TypeFor[T]().Field(i).Name] = one
	}
	return all
}

// permissionsOf returns every permission alone, and some of them together.
func permissionsOf(stream, topic int) map[string]*iggcon.Permissions {
	all := map[string]*iggcon.Permissions{"none": nil, "empty": {}}
	for name, p := range flags[iggcon.GlobalPermissions]("global ") {
		all[name] = &iggcon.Permissions{Global: p}
	}
	for name, p := range flags[iggcon.StreamPermissions]("stream ") {
		all[name] = &iggcon.Permissions{Streams: map[int]*iggcon.StreamPermissions{stream: &p}}
	}
	for name, p := range flags[iggcon.TopicPermissions]("topic ") {
		all[name] = &iggcon.Permissions{Streams: map[int]*iggcon.StreamPermissions{
			stream: {Topics: map[int]*iggcon.TopicPermissions{topic: &p}},
		}}
	}
	global, streams, topics := flags[iggcon.GlobalPermissions](""), flags[iggcon.StreamPermissions](""), flags[iggcon.TopicPermissions]("")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 8 {
		stream1, topic1 := pick(random, streams), pick(random, topics)
		stream1.Topics = map[int]*iggcon.TopicPermissions{topic: &topic1}
		all[fmt.Sprint("mixed ", i)] = &iggcon.Permissions{
			Global: pick(random, global), Streams: map[int]*iggcon.StreamPermissions{stream: &stream1},
		}
	}
	return all
}

func pick[T any](random *rand.Rand, from map[string]T) T {
	names := slices.Sorted(maps.Keys(from))
	return from[names[random.IntN(len(names))]]
}

// The mapping is what the real server decides: for each permission, what it lets a user
// do by Iggy's own protocol is what the authorizer lets it do by Kafka's.
func TestTheServerDecidesTheSame(t *testing.T) {
	t.Parallel()
	server := iggytest.Real(t, iggytest.NoFsync())
	s := store(t, server.Address(), nil)
	for _, name := range []string{"other", "t"} {
		_, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: name, Partitions: 1})
		require.NoError(t, err)
	}
	at, err := s.Places(t.Context())
	require.NoError(t, err)
	var stream, topic int
	for place, name := range at.Topics {
		if name == "t" {
			stream, topic = int(place.Stream), int(place.Topic)
		}
	}
	root, a := sdk(t, server.Address(), iggytest.Username, iggytest.Password), open(t, s)
	n := 0
	for name, permissions := range permissionsOf(stream, topic) {
		n++
		user := fmt.Sprint("user", n)
		_, err := root.CreateUser(user, "secret", iggcon.Active, permissions)
		require.NoError(t, err)
		u := native{t, sdk(t, server.Address(), user, "secret"), root, user}
		for _, topic := range []string{"t", "other"} {
			for op, may := range u.topic(topic) {
				require.Equal(t, may, a.may(t, user, op, kmsg.ACLResourceTypeTopic, topic), "%s: %s %s", name, op, topic)
			}
		}
		for op, may := range u.servers() {
			require.Equal(t, may, a.may(t, user, op, kmsg.ACLResourceTypeCluster, security.ClusterName), "%s: %s cluster", name, op)
		}
	}
}

// native is a user that does things by Iggy's own protocol.
type native struct {
	*testing.T
	iggcon.Client
	root iggcon.Client
	user string
}

// may makes a request and reports whether the server let it happen.
func (u native) may(err error) bool {
	u.Helper()
	var refused ierror.IggyError
	if errors.As(err, &refused) && refused.Code() == ierror.UnauthorizedCode {
		return false
	}
	require.NoError(u, err)
	return true
}

func (u native) topic(name string) map[kmsg.ACLOperation]bool {
	u.Helper()
	stream, topic, zero := id(u.T, "kafka"), id(u.T, name), uint32(0)
	_, polled := u.PollMessages(stream, topic, iggcon.NewSingleConsumer(id(u.T, uint32(1))), iggcon.FirstPollingStrategy(), 1, false, &zero)
	message, err := iggcon.NewIggyMessage([]byte("x"))
	require.NoError(u, err)
	sent := u.SendMessages(stream, topic, iggcon.PartitionId(0), []iggcon.IggyMessage{message})
	_, shown := u.GetTopic(stream, topic)
	updated := u.UpdateTopic(stream, topic, name, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 1<<62, nil)
	grown := u.CreatePartitions(stream, topic, 1)
	require.Equal(u, u.may(updated), u.may(grown))
	_, made := u.CreateTopic(stream, u.user+name, 1, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 1<<62, nil)
	return map[kmsg.ACLOperation]bool{
		kmsg.ACLOperationRead:            u.may(polled),
		kmsg.ACLOperationWrite:           u.may(sent),
		kmsg.ACLOperationDescribe:        u.may(polled) || u.may(sent) || u.may(shown),
		kmsg.ACLOperationDescribeConfigs: u.may(shown),
		kmsg.ACLOperationAlter:           u.may(grown),
		kmsg.ACLOperationAlterConfigs:    u.may(updated),
		kmsg.ACLOperationDelete:          u.mayDelete(stream, topic, name),
		kmsg.ACLOperationCreate:          u.may(made),
	}
}

// mayDelete deletes a topic and makes it anew, which has its number again.
func (u native) mayDelete(stream, topic iggcon.Identifier, name string) bool {
	u.Helper()
	if !u.may(u.DeleteTopic(stream, topic)) {
		return false
	}
	_, err := u.root.CreateTopic(stream, name, 1, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 1<<62, nil)
	require.NoError(u, err)
	return true
}

func (u native) servers() map[kmsg.ACLOperation]bool {
	_, err := u.GetStats()
	reads := u.may(err)
	return map[kmsg.ACLOperation]bool{kmsg.ACLOperationDescribe: reads, kmsg.ACLOperationDescribeConfigs: reads}
}

// A gateway that may not look at users says so when it starts.
func TestReadUsers(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		server := start(t, iggytest.NoFsync())
		root := sdk(t, server.Address(), iggytest.Username, iggytest.Password)
		permissions := &iggcon.Permissions{Global: iggcon.GlobalPermissions{ManageStreams: true}}
		_, err := root.CreateUser("gateway", "secret", iggcon.Active, permissions)
		require.NoError(t, err)
		s := store(t, server.Address(), func(c *iggy.Config) { c.Username, c.Password = "gateway", "secret" })
		a := open(t, s)
		require.ErrorContains(t, a.Check(t.Context()), "read_users")
		require.False(t, a.may(t, iggytest.Username, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, "t"))
		_, err = a.DescribeACLs(t.Context(), everyACL)
		require.ErrorContains(t, err, "does not tell")

		permissions.Global.ReadUsers = true
		require.NoError(t, root.UpdatePermissions(id(t, "gateway"), permissions))
		require.NoError(t, a.Check(t.Context()))
		require.Eventually(t, func() bool {
			return a.may(t, iggytest.Username, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, "t")
		}, soon, tick)
	})
}

// Permissions that are given and taken, users that come, go, and are made inactive: the
// authorizer follows.
func TestUsersChange(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		server := start(t, iggytest.NoFsync())
		s := store(t, server.Address(), func(c *iggy.Config) { c.TopicMap = "mapped=elsewhere/native" })
		for _, name := range []string{"mine", "mapped"} {
			_, err := s.CreateTopic(t.Context(), backend.NewTopic{Name: name, Partitions: 1})
			require.NoError(t, err)
		}
		at, err := s.Places(t.Context())
		require.NoError(t, err)
		require.False(t, at.Missing)
		elsewhere := 0
		for number, name := range at.Streams {
			if name == "elsewhere" {
				elsewhere = int(number)
			}
		}
		root, a := sdk(t, server.Address(), iggytest.Username, iggytest.Password), open(t, s)
		reads := func(topic string) bool {
			return a.may(t, "alice", kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, topic)
		}
		require.False(t, reads("mine"))
		_, err = root.CreateUser("alice", "secret", iggcon.Active, nil)
		require.NoError(t, err)
		require.False(t, reads("mine"))
		streams := map[int]*iggcon.StreamPermissions{elsewhere: {PollMessages: true}}
		require.NoError(t, root.UpdatePermissions(id(t, "alice"), &iggcon.Permissions{Streams: streams}))
		require.True(t, reads("mapped"), "the map counts")
		require.False(t, reads("mine"))
		require.NoError(t, root.UpdatePermissions(id(t, "alice"), &iggcon.Permissions{Global: iggcon.GlobalPermissions{PollMessages: true}}))
		require.True(t, reads("mine"))
		inactive, active := iggcon.Inactive, iggcon.Active
		require.NoError(t, root.UpdateUser(id(t, "alice"), nil, &inactive))
		require.False(t, reads("mine"))
		require.NoError(t, root.UpdateUser(id(t, "alice"), nil, &active))
		require.True(t, reads("mine"))
		require.NoError(t, root.DeleteUser(id(t, "alice")))
		require.False(t, reads("mine"))
		_, err = s.User(t.Context(), "alice")
		require.ErrorIs(t, err, client.ErrNoUser)
	})
}

// While the server is away what was known is held true, and nothing else; when it is
// back, so are its answers.
func TestServerAway(t *testing.T) {
	t.Parallel()
	iggytest.Each(t, func(t *testing.T, start iggytest.Start) {
		server := start(t, iggytest.NoFsync())
		s := store(t, server.Address(), nil)
		a := open(t, s)
		reads := func(user string) bool {
			return a.may(t, user, kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, "t")
		}
		require.True(t, reads(iggytest.Username))
		server.Kill()
		require.Eventually(t, func() bool { return s.Healthy(t.Context()) != nil }, soon, tick)
		require.True(t, reads(iggytest.Username))
		require.True(t, reads(iggytest.Username))
		require.False(t, reads("nobody"))
		server.Start()
		root := sdk(t, server.Address(), iggytest.Username, iggytest.Password)
		_, err := root.CreateUser("alice", "secret", iggcon.Active, &iggcon.Permissions{Global: iggcon.GlobalPermissions{PollMessages: true}})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return reads("alice") }, soon, tick)
	})
}
