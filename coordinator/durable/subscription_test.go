package durable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/coordinator"
)

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata string
		topics   map[string]bool
	}{
		"two topics":            {"\x00\x00\x00\x00\x00\x02\x00\x01a\x00\x01b\xff\xff\xff\xff", map[string]bool{"a": true, "b": true}},
		"user data":             {"\x00\x01\x00\x00\x00\x01\x00\x01a\x00\x00\x00\x02uu\x00\x00\x00\x00", map[string]bool{"a": true}},
		"no topics":             {"\x00\x03\x00\x00\x00\x00\xff\xff\xff\xff", map[string]bool{}},
		"nothing":               {"", nil},
		"a negative version":    {"\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff", nil},
		"a negative count":      {"\x00\x00\xff\xff\xff\xff", nil},
		"more topics than told": {"\x00\x00\x7f\xff\xff\xff\x00\x01a", nil},
		"a topic cut short":     {"\x00\x00\x00\x00\x00\x01\x00\x05a", nil},
		"a null topic":          {"\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff", nil},
		"no user data":          {"\x00\x00\x00\x00\x00\x01\x00\x01a", nil},
		"user data cut short":   {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05u", nil},
	} {
		got, ok := subscribed([]coordinator.MemberDescription{{Metadata: []byte(c.metadata)}})
		require.Equal(t, c.topics != nil, ok, name)
		require.Equal(t, c.topics, got, name)
	}
}

func FuzzSubscription(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x02\x00\x01a\x00\x01b\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		topics := map[string]bool{}
		readSubscription(b, topics)
		size := 0
		for topic := range topics {
			size += len(topic) + 2
		}
		require.LessOrEqual(t, size, len(b), "it costs what was sent")
	})
}
