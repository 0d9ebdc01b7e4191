package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway/admin"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/backend"
)

// report is a page of somebody else's.
type report struct{ topics backend.Topics }

func (p report) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all, err := p.topics.AllTopics(r.Context())
	fmt.Fprintln(w, len(all), "topics", err)
}

var reports = fx.Module("report", fx.Provide(func(b backend.Backend) admin.Out {
	return admin.Out{Route: admin.Route{Pattern: "GET /report", Handler: report{b}}}
}))

// A module adds a page to a whole gateway.
func TestAPageOfAModule(t *testing.T) {
	t.Parallel()
	var url string
	gatewaytest.Start(t, gatewaytest.Admin(&url), reports)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url + "/report")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "0 topics <nil>\n", string(body))
}
