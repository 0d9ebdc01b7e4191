package topicadmin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/handler"
	. "github.com/iggykafka/gateway/core/topicadmin"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The text of an error that nobody foresaw does not reach clients.
func TestFailed(t *testing.T) {
	t.Parallel()
	message := func(f Fault) string {
		if f.Message == nil {
			return "(none)"
		}
		return *f.Message
	}
	for _, c := range []struct {
		err     error
		code    int16
		message string
	}{
		{nil, 0, "(none)"},
		{backend.ErrUnavailable, 41, "(none)"},
		{errors.New("disk of /home/secret is gone"), -1, "(none)"},
		{backend.ErrTooManyTopics, 44, "no room for another topic"},
		{&backend.ConfigError{Name: "cleanup.policy", Reason: "cannot compact"}, 40, "config cleanup.policy: cannot compact"},
	} {
		if c.err != nil {
			c.err = fmt.Errorf("stream kafka: %w", c.err)
		}
		f := Failed(c.err)
		require.Equal(t, c.code, f.Code)
		require.Equal(t, c.code == 0, f.OK())
		require.Equal(t, c.message, message(f))
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	of := func(s string) map[string]bool { return Repeated(slices.Values(strings.Split(s, ""))) }
	require.Empty(t, of(""))
	require.Empty(t, of("abc"))
	require.Equal(t, map[string]bool{"a": true, "c": true}, of("abcacc"))
}

func TestCheckReplicas(t *testing.T) {
	t.Parallel()
	require.True(t, CheckReplicas(1, []int32{1}).OK())
	// What a broker of Kafka 4.4 says.
	const twice, stranger = "The manual partition assignment includes the broker %d more than once.",
		"The manual partition assignment includes broker %d, but no such broker is registered."
	for _, c := range []struct {
		replicas []int32
		want     string
	}{
		{nil, "The manual partition assignment includes an empty replica list."},
		{[]int32{1, 1}, fmt.Sprintf(twice, 1)},
		{[]int32{1, 1, 2}, fmt.Sprintf(twice, 1)},
		{[]int32{2, 2, 1}, fmt.Sprintf(stranger, 2)},
		{[]int32{2, 2}, fmt.Sprintf(stranger, 2)},
		{[]int32{1, 2}, fmt.Sprintf(stranger, 2)},
		{[]int32{3, 2, -1}, fmt.Sprintf(stranger, -1)},
	} {
		f := CheckReplicas(1, c.replicas)
		require.Equal(t, kerr.InvalidReplicaAssignment.Code, f.Code)
		require.Equal(t, c.want, *f.Message, "%v", c.replicas)
	}
}

func TestCollisions(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	for _, name := range []string{"a.b", "plain"} {
		_, err := s.Create(name, 1, nil)
		require.NoError(t, err)
	}
	reads := 0
	s.Before = func(method string) error {
		if method == "AllTopics" {
			reads++
		}
		return nil
	}
	c := Collisions{Topics: s}
	find := func(name string) string {
		other, err := c.Find(context.Background(), name)
		require.NoError(t, err)
		return other
	}
	require.Empty(t, find("plain-one"))
	require.Zero(t, reads, "a name that cannot collide needs no list")
	require.Equal(t, "a.b", find("a_b"))
	require.Empty(t, find("a.b"))
	require.Empty(t, find("c_d"))
	c.Add("c_d")
	c.Add("also-plain")
	require.Equal(t, "c_d", find("c.d"))
	require.Equal(t, 1, reads)

	s.Before = func(string) error { return backend.ErrUnavailable }
	_, err := (&Collisions{Topics: s}).Find(context.Background(), "x.y")
	require.ErrorIs(t, err, backend.ErrUnavailable)
}

// Clients that append to one topic at once lose nothing.
func TestConcurrentAlter(t *testing.T) {
	t.Parallel()
	s := admintest.New(t)
	_, err := s.Create("a", 1, nil)
	require.NoError(t, err)
	a := Alterer{Topics: s, Catalog: s.Catalog, Node: 1}
	var done sync.WaitGroup
	for i := range 16 {
		done.Go(func() {
			value := fmt.Sprintf("%d:1", i)
			faults := a.Alter(context.Background(), handler.Call{}, []Resource{{Type: kmsg.ConfigResourceTypeTopic, Name: "a", Configs: []Config{
				{Name: "leader.replication.throttled.replicas", Op: kmsg.IncrementalAlterConfigOpAppend, Value: &value},
			}}}, false)
			require.Equal(t, []Fault{{}}, faults)
		})
	}
	done.Wait()
	topic, err := s.Topic(context.Background(), "a")
	require.NoError(t, err)
	require.Len(t, strings.Split(topic.Overrides["leader.replication.throttled.replicas"], ","), 16)
}

func TestCosts(t *testing.T) {
	t.Parallel()
	require.Zero(t, Cost(slices.Values([]string(nil))))
	require.Greater(t, Cost(slices.Values([]string{"abc", ""})), int64(1000))
	value := strings.Repeat("x", 10000)
	require.Greater(t, CostOfAlter([]Resource{{Name: "a", Configs: []Config{{Name: "b", Value: &value}, {Name: "c"}}}}), int64(20000))
}
