package security

import (
	"context"
	"time"
)

// QuotaKind is what a quota bounds.
type QuotaKind uint8

// The kinds, with Kafka's names of their quotas.
const (
	NoQuota          QuotaKind = iota
	ProducedBytes              // producer_byte_rate, in bytes a second
	FetchedBytes               // consumer_byte_rate, in bytes a second
	RequestTime                // request_percentage, in percent of one processor's time
	PartitionChanges           // controller_mutation_rate, in partitions a second (KIP-599)
)

// QuotaKinds are all kinds but NoQuota.
var QuotaKinds = []QuotaKind{ProducedBytes, FetchedBytes, RequestTime, PartitionChanges}

// ConnectionRateQuota is Kafka's name of the quota that addresses have.
const ConnectionRateQuota = "connection_creation_rate"

// String is Kafka's name of the quota; "" for NoQuota.
func (k QuotaKind) String() string {
	switch k {
	case ProducedBytes:
		return "producer_byte_rate"
	case FetchedBytes:
		return "consumer_byte_rate"
	case RequestTime:
		return "request_percentage"
	case PartitionChanges:
		return "controller_mutation_rate"
	}
	return ""
}

// Quotas keeps account of what clients use (KIP-13, KIP-124, KIP-219). It is
// asked for every request, from many goroutines at once, and does not block. Every
// implementation passes securitytest.Bounds, and one that is a [QuotaList] the whole of
// securitytest.Quotas.
type Quotas interface {
	// Use charges what a client has used: bytes, or seconds of RequestTime. It
	// returns for how long the client is to be throttled, in whole milliseconds, zero
	// for not at all. A negative amount gives back what was charged and not used.
	Use(who Requester, kind QuotaKind, amount float64) time.Duration
	// TryUse is Use for what may be refused: of a client that is over its quota
	// already it charges nothing, and returns for how long that is so; else it charges
	// and returns zero.
	TryUse(who Requester, kind QuotaKind, amount float64) time.Duration
	// Most is how much a client may use at once and, having used nothing before, not
	// be over its quota: +Inf where no quota matches.
	Most(who Requester, kind QuotaKind) float64
	// ConnectionRate is how many connections a second an address may make, 0 for
	// any number (connection_creation_rate of the entity ip, KIP-612).
	ConnectionRate(host string) float64
}

// QuotaEntity is who a quota is for: a value for one or two of the types "user"
// and "client-id", or for "ip". A nil value is the type's default.
type QuotaEntity map[string]*string

// QuotaValues are the quotas of one entity, by Kafka's names.
type QuotaValues map[string]float64

// QuotaEntry is one entity that has quotas.
type QuotaEntry struct {
	Entity QuotaEntity
	Values QuotaValues
}

// QuotaChange sets quotas of one entity; a nil value removes one.
type QuotaChange struct {
	Entity QuotaEntity
	Values map[string]*float64
}

// QuotaFilter chooses entities by one type. With Any a type with any value, nil
// included, is chosen; else only Value, where nil is the default.
type QuotaFilter struct {
	Type  string
	Value *string
	Any   bool
}

// QuotaList is the list of quotas, as the keys 48 and 49 manage it (KIP-546). An
// error of type *kerr.Error becomes that code, with the error's text.
type QuotaList interface {
	// DescribeQuotas returns the entities that have all the types of the filters;
	// with strict, no other type. Sorted.
	DescribeQuotas(ctx context.Context, filters []QuotaFilter, strict bool) ([]QuotaEntry, error)
	// AlterQuotas makes changes, one error each. With validateOnly it only looks.
	AlterQuotas(ctx context.Context, changes []QuotaChange, validateOnly bool) []error
}
