package oracle

import "github.com/twmb/franz-go/pkg/kmsg"

// quotaSubjects are the keys of quotas. What the user may change is removed again by
// the same request at the next version.
var quotaSubjects = []subject{{
	name:    "Quotas",
	prepare: func(*side) []kmsg.Request { return nil },
	ask: []question{
		{name: "describe", min: 0, max: 1, capture: sortQuotas, build: func(*side, int16) kmsg.Request {
			return kmsg.NewPtrDescribeClientQuotasRequest()
		}, grants: []string{"describe_configs cluster", "describe cluster", "alter_configs cluster"}},
		{name: "describe nonsense", min: 1, max: 1, build: func(*side, int16) kmsg.Request {
			r := kmsg.NewPtrDescribeClientQuotasRequest()
			r.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "planet"}}
			return r
		}, grants: []string{"describe_configs cluster"}},
		{name: "alter", min: 0, max: 1, capture: sortQuotas, build: func(_ *side, v int16) kmsg.Request {
			r := kmsg.NewPtrAlterClientQuotasRequest()
			var value any
			if v == 0 {
				value = 1_000_000
			}
			r.Entries = []kmsg.AlterClientQuotasRequestEntry{
				quotaEntry(quotaEntity("user", "oracle-z"), produceRate, value), quotaEntry(quotaEntity("planet", "*"), produceRate, 1),
			}
			return r
		}, grants: []string{"alter_configs cluster", "alter cluster", "describe_configs cluster"}},
	},
}}
