package iggytest_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func TestAgreeStreams(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.gone(wiretest.GetStreams, nil)
		p.gone(wiretest.GetStream, names("s"))
		made := p.ok(wiretest.CreateStream, wiretest.String8(nil, "s"))
		require.Equal(t, made, p.ok(wiretest.GetStream, names("s")))
		require.Equal(t, made, p.ok(wiretest.GetStream, wiretest.Number(nil, 0)))
		require.Zero(t, describe(made).id)
		recent(t, describe(made).created)
		p.refused(1012, wiretest.CreateStream, wiretest.String8(nil, "s"))
		p.refused(4, wiretest.CreateStream, wiretest.String8(nil, ""))
		p.refused(3, wiretest.CreateStream, []byte{9, 'x'})
		second := p.ok(wiretest.CreateStream, wiretest.String8(nil, "S ü/.."))
		require.EqualValues(t, 1, describe(second).id)
		require.Equal(t, append(made, second...), p.ok(wiretest.GetStreams, nil))
		p.refused(1012, wiretest.UpdateStream, wiretest.String8(names("s"), "S ü/.."))
		p.refused(1009, wiretest.UpdateStream, wiretest.String8(names("x"), "y"))
		p.ok(wiretest.UpdateStream, wiretest.String8(names("s"), "s"))
		p.ok(wiretest.UpdateStream, wiretest.String8(names("s"), "renamed"))
		p.gone(wiretest.GetStream, names("s"))
		require.Zero(t, describe(p.ok(wiretest.GetStream, names("renamed"))).id)
		p.refused(1009, wiretest.DeleteStream, names("s"))
		p.ok(wiretest.DeleteStream, names("renamed"))
		p.refused(1009, wiretest.DeleteStream, names("renamed"))
		again := p.ok(wiretest.CreateStream, wiretest.String8(nil, "s"))
		require.Zero(t, describe(again).id, "ids are used again")
		require.Greater(t, describe(again).created, describe(made).created)
	})
}

func TestAgreeTopics(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.gone(wiretest.GetTopics, names("s"))
		p.gone(wiretest.GetTopic, names("s", "t"))
		p.refused(1009, wiretest.CreateTopic, createTopic("s", "t", 1, never, unlimited))
		p.ok(wiretest.CreateStream, wiretest.String8(nil, "s"))
		p.gone(wiretest.GetTopics, names("s"))
		p.gone(wiretest.GetTopic, names("s", "t"))
		made := p.ok(wiretest.CreateTopic, createTopic("s", "t", 2, 12345, 1<<31))
		got := p.ok(wiretest.GetTopic, names("s", "t"))
		require.Len(t, got, len(made))
		require.Equal(t, describe(made), describe(got))
		recent(t, describe(made).created)
		le := binary.LittleEndian
		require.EqualValues(t, 2, le.Uint32(got[12:]), "partitions")
		require.EqualValues(t, 12345, le.Uint64(got[16:]), "expiry")
		require.EqualValues(t, 1, got[24], "compression")
		require.EqualValues(t, 1<<31, le.Uint64(got[25:]), "size")
		require.EqualValues(t, 1, got[33], "replication")
		partitions := got[52:]
		require.Len(t, partitions, 2*40)
		require.EqualValues(t, 1, le.Uint32(partitions[40:]), "id")
		recent(t, le.Uint64(partitions[44:]))
		require.EqualValues(t, 1, le.Uint32(partitions[52:]), "segments")
		p.refused(2013, wiretest.CreateTopic, createTopic("s", "t", 1, never, unlimited))
		second := p.ok(wiretest.CreateTopic, createTopic("s", "u", 0, 0, 0))
		require.EqualValues(t, uint64(never), le.Uint64(second[16:]), "the default expiry")
		require.EqualValues(t, uint64(unlimited), le.Uint64(second[25:]), "the default size")
		require.Equal(t, append(got[:52:52], second...), p.ok(wiretest.GetTopics, names("s")))
		require.Equal(t, append(got[:52:52], second...), p.ok(wiretest.GetStream, names("s"))[34:])
		p.refused(3007, wiretest.SendMessages, wiretest.SendBody("s", "u", 0, messages("a")...))
		p.refused(2010, wiretest.DeleteTopic, names("s", "x"))
		p.refused(1009, wiretest.DeleteTopic, names("x", "t"))
		p.ok(wiretest.DeleteTopic, names("s", "t"))
		p.gone(wiretest.GetTopic, names("s", "t"))
	})
}

func TestAgreeTopicRefused(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.refused(2015, wiretest.CreateTopic, createTopic("s", "u", 1001, never, unlimited))
		p.refused(2015, wiretest.CreateTopic, createTopic("x", "u", 1001, never, unlimited))
		p.refused(1019, wiretest.CreateTopic, createTopic("s", "u", 1, never, 1<<30-1))
		p.refused(1019, wiretest.CreateTopic, createTopic("s", "t", 1, never, 1<<30-1))
		p.refused(4, wiretest.CreateTopic, createTopic("s", "", 1, never, unlimited))
		wrong := createTopic("s", "u", 1, never, unlimited)
		wrong[3+4] = 9
		p.refused(3, wiretest.CreateTopic, wrong)
		p.refused(3, wiretest.CreateTopic, wrong[:9])
		kind := createTopic("s", "u", 1, never, unlimited)
		kind[0] = 3
		p.refused(3, wiretest.CreateTopic, kind)
		p.refused(4, wiretest.GetTopics, []byte{1, 3, 0, 0, 0})
		p.refused(4, wiretest.GetTopics, []byte{2, 0})
		p.ok(wiretest.CreateTopic, createTopic("s", "u", 1000, never, 1<<30))
		p.gone(wiretest.GetTopic, names("s", "v"))
	})
}

func TestAgreeTopicAgain(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.ok(wiretest.CreateTopic, createTopic("s", "u", 1, never, unlimited))
		p.ok(wiretest.CreateTopic, createTopic("s", "v", 1, never, unlimited))
		p.send("a", "b")
		first := describe(p.ok(wiretest.GetTopic, names("s", "t")))
		p.ok(wiretest.DeleteTopic, names("s", "t"))
		p.refused(2010, wiretest.SendMessages, wiretest.SendBody("s", "t", 0, messages("a")...))
		p.ok(wiretest.DeleteTopic, names("s", "u"))
		again := describe(p.ok(wiretest.CreateTopic, createTopic("s", "w", 1, never, unlimited)))
		require.EqualValues(t, 1, again.id, "the id that became free last")
		again = describe(p.ok(wiretest.CreateTopic, createTopic("s", "t", 1, never, unlimited)))
		require.Equal(t, first.id, again.id)
		require.Greater(t, again.created, first.created)
		p.polled(wiretest.ByOffset, 0, 9, 0)
		p.send("c")
		require.Equal(t, "c", string(p.poll(wiretest.ByOffset, 0, 9).Messages[0].Payload))
	})
}

func TestAgreeUpdateTopic(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		p.ok(wiretest.CreateTopic, createTopic("s", "u", 1, never, unlimited))
		before := describe(p.ok(wiretest.GetTopic, names("s", "t")))
		p.ok(wiretest.UpdateTopic, settings(names("s", "t"), 2, 777, 5, 3, "t"))
		got := p.ok(wiretest.GetTopic, names("s", "t"))
		require.Equal(t, before, describe(got))
		require.EqualValues(t, 777, binary.LittleEndian.Uint64(got[16:]))
		require.EqualValues(t, 2, got[24])
		require.EqualValues(t, 5, binary.LittleEndian.Uint64(got[25:]), "a size below the segment's is taken here")
		require.EqualValues(t, 3, got[33])
		p.ok(wiretest.UpdateTopic, settings(names("s", "t"), 1, 0, 0, 0, "t"))
		got = p.ok(wiretest.GetTopic, names("s", "t"))
		require.Zero(t, binary.LittleEndian.Uint64(got[16:]), "0 stays 0 here")
		require.Zero(t, binary.LittleEndian.Uint64(got[25:]))
		require.EqualValues(t, 1, got[33])
		p.refused(2013, wiretest.UpdateTopic, settings(names("s", "t"), 1, 0, 0, 0, "u"))
		p.refused(2010, wiretest.UpdateTopic, settings(names("s", "x"), 1, 0, 0, 0, "x"))
		p.refused(1009, wiretest.UpdateTopic, settings(names("x", "t"), 1, 0, 0, 0, "x"))
		p.refused(3, wiretest.UpdateTopic, settings(names("s", "t"), 0, 0, 0, 0, "t"))
		p.refused(4, wiretest.UpdateTopic, settings(names("s", "t"), 1, 0, 0, 0, ""))
		p.ok(wiretest.UpdateTopic, settings(names("s", "t"), 1, 0, 0, 0, "renamed"))
		p.gone(wiretest.GetTopic, names("s", "t"))
		p.ok(wiretest.SendMessages, wiretest.SendBody("s", "renamed", 0, messages("a")...))
	})
}

func TestAgreePartitions(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		p := newPeer(t, server)
		p.topic("s", "t", 1)
		count := func(stream, topic string, n uint32) []byte {
			return binary.LittleEndian.AppendUint32(names(stream, topic), n)
		}
		has := func(n uint32) {
			t.Helper()
			got := p.ok(wiretest.GetTopic, names("s", "t"))
			require.Equal(t, n, binary.LittleEndian.Uint32(got[12:]))
		}
		p.send("a")
		p.ok(wiretest.CreatePartitions, count("s", "t", 2))
		has(3)
		p.ok(wiretest.SendMessages, wiretest.SendBody("s", "t", 2, messages("a")...))
		p.refused(2015, wiretest.CreatePartitions, count("s", "t", 0))
		has(3)
		p.refused(2015, wiretest.CreatePartitions, count("s", "t", 1001))
		p.refused(2010, wiretest.CreatePartitions, count("s", "x", 1))
		p.refused(1009, wiretest.CreatePartitions, count("x", "t", 1))
		p.refused(2019, wiretest.DeletePartitions, count("s", "t", 4))
		p.refused(2019, wiretest.DeletePartitions, count("s", "t", 1001))
		p.refused(2015, wiretest.DeletePartitions, count("s", "t", 0))
		has(3)
		p.ok(wiretest.DeletePartitions, count("s", "t", 2))
		has(1)
		p.refused(3007, wiretest.SendMessages, wiretest.SendBody("s", "t", 1, messages("a")...))
		p.ok(wiretest.CreatePartitions, count("s", "t", 2))
		found := wiretest.ParsePolled(p.ok(wiretest.PollMessages, wiretest.PollBody("s", "t", 2, wiretest.ByOffset, 0, 9)))
		require.Empty(t, found.Messages, "partitions that are made again are empty")
		p.polled(wiretest.ByOffset, 0, 9, 0, 0)
	})
}
