package clienttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/clienttest/secured"
)

// How long logins are good for in Renew, how long it works on, and how many renewals it has to see by then.
const (
	loginLife = 2 * time.Second
	workTime  = 3 * loginLife
	renewals  = 4
)

// Renew has a client and a member of a group work on while the logins of their connections end. renews says that the
// library logs in again on its connections (KIP-368), and early how long before the end some begin with that. The
// connections of other libraries close with the next request, and they connect anew.
func (l Secured) Renew(t *testing.T, renews bool, early time.Duration) {
	server := secured.Start(t, early+loginLife)
	login := server.Login(t, secured.Scram512, secured.Alice)
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTime)
	defer cancel()
	client, err := l.Open(t, login)
	require.NoError(t, err)
	r := &run{T: t, ctx: ctx, client: client, traits: l.Traits, Observer: NewObserver(t, server.Open)}
	defer func() { require.NoError(t, client.Close()) }()

	name, group := r.topic("renewed"), Unique(t, "group")
	m := r.join(group, name)
	seen := map[string]bool{}
	began := time.Now()
	outlived := func() bool {
		count := server.Expired(t)
		if renews {
			count = server.Renewals(t, login.Mechanism)
		}
		return count >= renewals && time.Since(began) > workTime
	}
	for n := 0; n == 0 || !outlived(); n++ {
		value := fmt.Sprint(n)
		require.NoError(t, client.Produce(ctx, name, "none", []Record{{Value: []byte(value), Headers: []Header{}, Time: time.Now().UnixMilli()}}), "produce")
		for !seen[value] {
			require.NoError(t, ctx.Err(), "record %d is missing", n)
			for _, record := range m.once(r).Records {
				seen[string(record.Value)] = true
			}
		}
	}
	require.NoError(t, m.Close(), "close")
}
