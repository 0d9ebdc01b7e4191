package console

import (
	"context"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/iggykafka/gateway/coordinator"
	"github.com/iggykafka/gateway/core/backend"
)

const (
	// shownKeys is how many keys the overview has.
	shownKeys = 8
	// overviewPatience is how long it waits for the store, less than a page may take:
	// what the gateway itself knows is shown also while a store is silent.
	overviewPatience = time.Second
)

type overviewPage struct {
	ClusterID  string
	NodeID     int32
	Address    string // "" before the gateway listens
	Listeners  []shownListener
	Version    string
	Go         string
	Dir        backend.LogDir
	Topics     int
	Partitions int64
	// Away says why the store does not answer; "" when it does.
	Away       string
	States     []stateCount
	Groups     int
	Members    int
	GroupBytes int64
	Rebalances uint64
	Mix        mix
	APIs       int
}

// shownListener is one of several listeners.
type shownListener struct {
	Name, Protocol, Address string
	// On the page of security alone.
	Mechanisms  []string
	Connections int64
}

type stateCount struct {
	State coordinator.State
	Count int
	Share float64
}

// overview still shows what the gateway itself knows when the store is away.
func (c *Console) overview(ctx context.Context, _ *http.Request) (any, error) {
	p := overviewPage{NodeID: c.Node.ID, Version: c.Version, Go: runtime.Version(), Mix: c.Mix.recent(), APIs: len(c.APIs)}
	if host, port := c.Node.Address(); port >= 0 {
		p.Address = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	for _, l := range c.Node.Listeners() {
		p.Listeners = append(p.Listeners, shownListener{Name: l.Name, Protocol: l.Protocol, Address: net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port)))})
	}
	if len(p.Mix.Rates) > shownKeys {
		p.Mix.Rates = p.Mix.Rates[:shownKeys]
	}
	counts := c.Groups.Count()
	p.Members, p.GroupBytes, p.Rebalances = counts.Members, counts.Bytes, counts.Rebalances
	shown := map[coordinator.State]int{}
	maps.Copy(shown, counts.Groups)
	asking, cancel := context.WithTimeout(ctx, overviewPatience)
	defer cancel()
	if err := c.fromStore(asking, &p, shown); err != nil {
		if ctx.Err() == context.Canceled {
			return nil, ctx.Err()
		}
		p.Away = "The store took longer than " + overviewPatience.String() + " to answer."
		if asking.Err() == nil {
			f, _ := explain(err)
			p.Away = f.Title + ": " + err.Error()
		}
	}
	for _, s := range states {
		if s != offsetsOnly || p.Away == "" {
			p.States = append(p.States, stateCount{State: s, Count: shown[s]})
			p.Groups += shown[s]
		}
	}
	for i := range p.States {
		if p.Groups > 0 {
			p.States[i].Share = float64(p.States[i].Count) / float64(p.Groups)
		}
	}
	return p, nil
}

// fromStore adds what the store knows, the groups with offsets only among it.
func (c *Console) fromStore(ctx context.Context, p *overviewPage, groups map[coordinator.State]int) (err error) {
	if p.ClusterID, err = c.Store.ClusterID(ctx); err != nil {
		return err
	}
	topics, err := c.Store.AllTopics(ctx)
	for _, t := range topics {
		p.Topics++
		p.Partitions += int64(t.Partitions)
	}
	if err != nil {
		return err
	}
	all, err := c.allGroups(ctx)
	for _, l := range all {
		if l.State == offsetsOnly {
			groups[offsetsOnly]++
		}
	}
	if err != nil {
		return err
	}
	// Last: an Iggy server is asked for it, the rest is known.
	p.Dir, err = c.Store.LogDir(ctx)
	return err
}
