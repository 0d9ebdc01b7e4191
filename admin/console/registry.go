package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// live shows the requests of the last minutes.
func (c *Console) live(context.Context, *http.Request) (any, error) { return c.Mix.recent(), nil }

type apisPage struct{ APIs []apiRow }

type apiRow struct {
	Key                                     int16
	Name, Versions, Advertised, Policy, Who string
	Total                                   uint64 // requests since the start
}

// apis shows the registry of keys, as "kafka-gateway apis" does.
func (c *Console) apis(context.Context, *http.Request) (any, error) {
	totals := map[int16]uint64{}
	for _, n := range c.Mix.counter.Counts() {
		totals[n.Key] = n.Requests
	}
	var p apisPage
	for _, s := range c.APIs {
		a := s.Advertised()
		p.APIs = append(p.APIs, apiRow{
			Key: s.Key, Name: kmsg.NameForKey(s.Key), Versions: versions(s.Min, s.Max), Advertised: versions(a.Min, a.Max),
			Policy: s.BadRequest.String(), Who: strings.TrimSuffix(strings.ReplaceAll(s.Origin, modulePath, ""), "-fm"),
			Total: totals[s.Key],
		})
	}
	return p, nil
}

// modulePath is the same for all functions of ours.
const modulePath = "github.com/iggykafka/gateway/"

func versions(low, high int16) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}
