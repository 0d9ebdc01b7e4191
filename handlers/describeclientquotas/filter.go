package describeclientquotas

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// The types that entities have, in Kafka's words.
const (
	user     = "user"
	clientID = "client-id"
	ip       = "ip"
)

// filtersOf reads the components of a request. The first fault counts, in Kafka's
// words and order.
func filtersOf(req *request) ([]security.QuotaFilter, error) {
	// More than one of each type is a fault, so there are three at most.
	var filters []security.QuotaFilter
	has := func(kind string) bool {
		return slices.ContainsFunc(filters, func(f security.QuotaFilter) bool { return f.Type == kind })
	}
	for i := range req.Components {
		c := &req.Components[i]
		switch {
		case c.EntityType == "":
			return nil, invalid("Invalid empty entity type.")
		case has(c.EntityType):
			return nil, invalid("Entity type %s cannot appear more than once in the filter.", c.EntityType)
		case c.EntityType != user && c.EntityType != clientID && c.EntityType != ip:
			return nil, security.Refuse(kerr.UnsupportedVersion, "Unsupported entity type %s", c.EntityType)
		}
		f, err := filterOf(c)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	if has(ip) && (has(user) || has(clientID)) {
		return nil, invalid("Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.")
	}
	return filters, nil
}

// filterOf reads how one component matches.
func filterOf(c *kmsg.DescribeClientQuotasRequestComponent) (security.QuotaFilter, error) {
	f := security.QuotaFilter{Type: c.EntityType}
	switch c.MatchType {
	case kmsg.QuotasMatchTypeExact:
		if c.Match == nil {
			return f, invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
		}
		f.Value = c.Match
	case kmsg.QuotasMatchTypeDefault:
		if c.Match != nil {
			return f, invalid("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
		}
	case kmsg.QuotasMatchTypeAny:
		if c.Match != nil {
			return f, invalid("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
		}
		f.Any = true
	default:
		return f, invalid("Unknown match type %d", c.MatchType)
	}
	return f, nil
}

func invalid(format string, args ...any) error {
	return security.Refuse(kerr.InvalidRequest, format, args...)
}
