package quotas

import (
	"net/netip"

	"github.com/iggykafka/gateway/core/security"
)

// The types of entities, in Kafka's words.
const (
	userType   = "user"
	clientType = "client-id"
	ipType     = "ip"
)

// index finds the quota of a client. It does not change. A quota is above zero, so 0
// means none.
type index struct {
	kinds     [security.PartitionChanges + 1]levels
	addresses map[netip.Addr]float64
	anyone    float64 // the quota of all other addresses
}

// levels are the quotas of one kind, in the order in which they are looked for.
type levels struct {
	some bool // there is a quota at all

	pairs            map[pair]float64
	userAnyClient    map[string]float64
	users            map[string]float64
	anyUserClient    map[string]float64
	anyUserAnyClient float64
	anyUser          float64
	clients          map[string]float64
	anyClient        float64
	configured       float64
}

type pair struct{ user, client string }

// found is the quota of a client, and whose account it is: that of the user, of the
// client id, or of both.
type found struct {
	quota            float64 // 0: none
	byUser, byClient bool
}

// find finds the quota of a client. A client without an id, or a user without a
// name, has no quota by it, also not the default one.
func (l *levels) find(user, client string) found {
	if user != "" {
		if client != "" {
			if q := l.pairs[pair{user, client}]; q > 0 {
				return found{q, true, true}
			}
			if q := l.userAnyClient[user]; q > 0 {
				return found{q, true, true}
			}
		}
		if q := l.users[user]; q > 0 {
			return found{q, true, false}
		}
		if client != "" {
			if q := l.anyUserClient[client]; q > 0 {
				return found{q, true, true}
			}
			if l.anyUserAnyClient > 0 {
				return found{l.anyUserAnyClient, true, true}
			}
		}
		if l.anyUser > 0 {
			return found{l.anyUser, true, false}
		}
	}
	if client != "" {
		if q := l.clients[client]; q > 0 {
			return found{q, false, true}
		}
		if l.anyClient > 0 {
			return found{l.anyClient, false, true}
		}
	}
	return found{l.configured, true, true}
}

// newIndex makes the index of entries.
func newIndex(entries map[string]security.QuotaEntry, c Config) *index {
	ix := &index{addresses: map[netip.Addr]float64{}, anyone: c.ConnectionCreationRate}
	for _, kind := range security.QuotaKinds {
		l := &ix.kinds[kind]
		*l = levels{
			pairs: map[pair]float64{}, userAnyClient: map[string]float64{}, users: map[string]float64{},
			anyUserClient: map[string]float64{}, clients: map[string]float64{}, configured: c.of(kind),
		}
		l.some = l.configured > 0
		for _, e := range entries {
			if q := e.Values[kind.String()]; q > 0 {
				l.some = true
				l.add(e.Entity, q)
			}
		}
	}
	for _, e := range entries {
		q, has := e.Values[security.ConnectionRateQuota]
		ip, isIP := e.Entity[ipType]
		switch {
		case !has || !isIP:
		case ip == nil:
			ix.anyone = q
		default:
			if addr, err := netip.ParseAddr(*ip); err == nil {
				ix.addresses[addr.Unmap()] = q
			}
		}
	}
	return ix
}

// add adds the quota of an entity.
func (l *levels) add(e security.QuotaEntity, quota float64) {
	user, byUser := e[userType]
	client, byClient := e[clientType]
	switch {
	case byUser && byClient && user != nil && client != nil:
		l.pairs[pair{*user, *client}] = quota
	case byUser && byClient && user != nil:
		l.userAnyClient[*user] = quota
	case byUser && byClient && client != nil:
		l.anyUserClient[*client] = quota
	case byUser && byClient:
		l.anyUserAnyClient = quota
	case byUser && user != nil:
		l.users[*user] = quota
	case byUser:
		l.anyUser = quota
	case byClient && client != nil:
		l.clients[*client] = quota
	case byClient:
		l.anyClient = quota
	}
}

// of returns the quota of an address, 0 for none.
func (ix *index) of(host string) float64 {
	if len(ix.addresses) > 0 {
		if addr, err := netip.ParseAddr(host); err == nil {
			if q, ok := ix.addresses[addr.Unmap()]; ok {
				return q
			}
		}
	}
	return ix.anyone
}
