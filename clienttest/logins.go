package clienttest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest/secured"
)

// refusalTime bounds what a client takes to say why it does not get in. Some retry before.
const refusalTime = time.Minute

// Secured adapts a library to logins.
type Secured struct {
	// Traits may lack codecs and mechanisms, by their names.
	Traits
	// Says maps kinds of faults to what the library's error has in it.
	Says map[string]string
	// Silent lists kinds of faults of which the library does not show the server's message.
	Silent []string
	// Brief: starts of the client are slow. Of faults that are answered alike one is enough.
	Brief bool
	// Open returns a client that logs in, sooner or later.
	Open func(t *testing.T, login secured.Login) (Client, error)
	// Refused returns what the library says to a fault. By default it opens a client that makes a topic.
	Refused func(ctx context.Context, t *testing.T, login secured.Login) error
}

// Run has the library log in in each way that it knows, and be refused in each way. One server is for all of them.
func (l Secured) Run(t *testing.T) {
	server := secured.Start(t, 0)
	for i, login := range server.Logins(t) {
		t.Run(login.Name, func(t *testing.T) { l.work(t, server, login, Codecs()[i]) })
	}
	seen := map[[2]string]bool{}
	for _, fault := range server.Faults(t) {
		alike := [2]string{fault.Kind, fault.Says}
		if l.Brief && seen[alike] {
			continue
		}
		seen[alike] = true
		t.Run(fault.Name, func(t *testing.T) { l.refused(t, fault) })
	}
}

// work does with one login what clients do.
func (l Secured) work(t *testing.T, server *secured.Server, login secured.Login, codec string) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTime)
	defer cancel()
	r := &run{T: t, ctx: ctx, traits: l.Traits, storage: Storage{Name: embedded}, Observer: NewObserver(t, server.Open)}
	r.skipIfLacking(login.Mechanism)
	if _, lacks := l.Lacks[codec]; lacks {
		codec = Codecs()[0]
	}
	client, err := l.Open(t, login)
	require.NoError(t, err)
	r.client = client
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	tour(r, codec)
}

// tour calls each method of a client once.
func tour(r *run, codec string) {
	name, group, sent := r.topic("tour"), Unique(r, "group"), records(start())
	require.Error(r, r.client.CreateTopic(r.ctx, name, 3), "creating a topic twice")
	require.NoError(r, r.client.Produce(r.ctx, name, codec, sent), "produce")
	got, err := r.client.Read(r.ctx, name, Offsets{0: 0, 1: 0, 2: 0}, len(sent))
	require.NoError(r, err, "read")
	requireRecords(r, sent, got, r.traits)
	_, facts := r.Read(r, name, len(sent))
	require.Contains(r, facts.Codecs, codec, "codecs of the stored batches")
	at, err := r.client.OffsetsAt(r.ctx, name, sent[0].Time)
	require.NoError(r, err, "offsets at a time")
	require.Equal(r, Offsets{0: 0, 1: 0, 2: 0}, at)

	m := r.join(group, name)
	got = m.poll(r, len(sent))
	requireRecords(r, sent, got, r.traits)
	r.settle(group, name, m)
	ends := Offsets{}
	for _, record := range got {
		ends[record.Partition] = max(ends[record.Partition], record.Offset+1)
	}
	require.NoError(r, m.Commit(r.ctx, name, ends), "commit")
	require.NoError(r, m.Close(), "close")
	require.Equal(r, ends, r.Committed(r, group, name), "offsets that the broker keeps")
	groups, err := r.client.Groups(r.ctx)
	require.NoError(r, err, "list groups")
	if secured.Kafka() { // whose groups outlive their members
		require.Contains(r, groups, group)
	}
	require.NoError(r, r.client.DeleteTopic(r.ctx, name), "delete topic")
	r.AwaitPartitions(r, name, 0)
}

// refused has one login fail, or what it is not allowed to do.
func (l Secured) refused(t *testing.T, fault secured.Fault) {
	t.Parallel()
	if why, lacks := l.Lacks[fault.Mechanism]; lacks {
		t.Skip("the library cannot: " + why)
	}
	ctx, cancel := context.WithTimeout(t.Context(), refusalTime)
	defer cancel()
	ask := l.Refused
	if ask == nil || fault.Kind == secured.NotAllowed {
		ask = l.topic
	}
	err := ask(ctx, t, fault.Login)
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "%v", err)
	require.ErrorContains(t, err, l.Says[fault.Kind])
	if !slices.Contains(l.Silent, fault.Kind) {
		require.ErrorContains(t, err, fault.Says)
	}
}

// topic opens a client that makes a topic.
func (l Secured) topic(ctx context.Context, t *testing.T, login secured.Login) error {
	client, err := l.Open(t, login)
	if err != nil {
		return err
	}
	return errors.Join(client.CreateTopic(ctx, Unique(t, "topic"), 1), client.Close())
}
