package describeconfigs

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/encoded"
)

// price sums up the length of an answer in bytes, with its header and without
// the length prefix of the frame.
type price struct {
	version int16
	layout  encoded.Layout
	sum     int64
}

// newPrice starts with all that is not a resource.
func newPrice(req *kmsg.DescribeConfigsRequest) *price {
	l := encoded.At(req.Version, 4)
	return &price{version: req.Version, layout: l, sum: l.Header() + 4 + l.Array(len(req.Resources)) + l.Tags()}
}

func (p *price) resource(r *kmsg.DescribeConfigsResponseResource) int64 {
	l := p.layout
	sum := 2 + l.NullableString(r.ErrorMessage) + 1 + l.String(len(r.ResourceName)) + l.Array(len(r.Configs)) + l.Tags()
	for i := range r.Configs {
		sum += p.config(&r.Configs[i])
	}
	return sum
}

func (p *price) config(c *config) int64 {
	l := p.layout
	// Read-only, source and sensitive take a byte each.
	sum := l.String(len(c.Name)) + l.NullableString(c.Value) + 3 + l.Array(len(c.ConfigSynonyms)) + l.Tags()
	for i := range c.ConfigSynonyms {
		s := &c.ConfigSynonyms[i]
		sum += l.String(len(s.Name)) + l.NullableString(s.Value) + 1 + l.Tags()
	}
	if p.version >= 3 {
		sum += 1 + l.NullableString(c.Documentation)
	}
	return sum
}
