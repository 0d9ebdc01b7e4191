package quotas

import (
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggykafka/gateway/core/security"
)

// ranges are the values that a quota may have.
type ranges struct {
	most  float64 // 0: any
	named string  // what most is the largest of
}

var (
	anyNumber = ranges{}
	longs     = ranges{math.MaxInt64, "LONG"}
	ints      = ranges{math.MaxInt32, "INT"}
)

// The quotas that users and clients have, and those of addresses.
var (
	clientQuotas = map[string]ranges{
		security.ProducedBytes.String():    longs,
		security.FetchedBytes.String():     longs,
		security.RequestTime.String():      anyNumber,
		security.PartitionChanges.String(): anyNumber,
	}
	addressQuotas = map[string]ranges{security.ConnectionRateQuota: ints}
)

// Check says what is wrong with a change of quotas, as a security.Refusal in Kafka's
// words. Addresses are numbers here: names are not looked up.
func Check(c security.QuotaChange) error {
	quotas, err := checkEntity(c.Entity)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(c.Values)) {
		if value := c.Values[key]; value != nil {
			if err := checkValue(quotas, key, *value); err != nil {
				return err
			}
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return security.Refuse(kerr.InvalidRequest, format, args...)
}

// longestEntity bounds a user, client id or address with a quota, in bytes.
const longestEntity = 4096

// checkEntity returns the quotas that an entity may have.
func checkEntity(e security.QuotaEntity) (map[string]ranges, error) {
	if len(e) == 0 {
		return nil, invalid("Invalid empty client quota entity")
	}
	for _, kind := range slices.Sorted(maps.Keys(e)) {
		switch kind {
		case userType, clientType, ipType:
		default:
			return nil, invalid("Unhandled client quota entity type: %s", kind)
		}
		name := e[kind]
		switch {
		case name == nil: // the default
		case *name == "":
			return nil, invalid("Empty %s not supported", kind)
		case len(*name) > longestEntity:
			return nil, invalid("A %s of %d bytes is not supported, limit %d", kind, len(*name), longestEntity)
		}
	}
	ip, isIP := e[ipType]
	if !isIP {
		return clientQuotas, nil
	}
	if len(e) > 1 {
		return nil, invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
	}
	if ip != nil {
		if _, err := netip.ParseAddr(*ip); err != nil {
			return nil, invalid("%s is not a valid IP or resolvable host.", *ip)
		}
	}
	return addressQuotas, nil
}

// nearlyWhole is how far a value may be from a whole number where one is asked for.
const nearlyWhole = 1e-6

func checkValue(quotas map[string]ranges, key string, v float64) error {
	r, ok := quotas[key]
	switch {
	case !ok:
		return invalid("Invalid configuration key %s", key)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return invalid("Quota %s must be a finite number", key)
	case v <= 0:
		return invalid("Quota %s must be greater than 0", key)
	case r.most == 0:
		return nil
	case v > r.most:
		return invalid("Proposed value for %s is too large for a%s %s.", key, article(r.named), r.named)
	case math.Abs(math.Trunc(v)-v) > nearlyWhole:
		return invalid("%s cannot be a fractional value.", key)
	}
	return nil
}

// article ends the article of a word.
func article(word string) string {
	if word[0] == 'I' {
		return "n"
	}
	return ""
}
