package console_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app/gatewaytest"
)

// A whole gateway shows what a real client did to it.
func TestInAGateway(t *testing.T) {
	t.Parallel()
	var url string
	addr := gatewaytest.Start(t, gatewaytest.Admin(&url))
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 3, 1, nil, "orders")
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("one")}, &kgo.Record{Topic: "orders", Value: []byte("two")}).FirstErr())
	for read := 0; read < 2; {
		fetched := client.PollFetches(t.Context())
		require.NoError(t, fetched.Err())
		read += fetched.NumRecords()
	}
	require.NoError(t, client.CommitUncommittedOffsets(t.Context()))

	// The console is where whoever opens the listener's address arrives.
	require.Contains(t, page(t, url+"/"), "<h1>Overview</h1>")
	require.Contains(t, page(t, url+"/console/topics"), "/console/topic?name=orders")
	require.Contains(t, page(t, url+"/console/topic?name=orders"), "/console/group?name=readers")
	require.Contains(t, page(t, url+"/console/groups"), "/console/group?name=readers")
	group := page(t, url+"/console/group?name=readers")
	require.Contains(t, group, `<span class="number">0–2</span>`, "the assignment")
	require.Regexp(t, `lag in [12] partition`, group)
	require.Contains(t, page(t, url+"/console/live"), "OffsetCommit")
	require.Contains(t, page(t, url+"/console/apis"), "handlers/produce")
}

func page(t *testing.T, url string) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
	return string(body)
}
