package secured

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Renewals counts the logins by a mechanism that were renewed on their connections (KIP-368).
func (s *Server) Renewals(t testing.TB, mechanism string) int {
	t.Helper()
	return s.metric(t, `kafka_gateway_reauthentications_total{mechanism="`+mechanism+`",result="success"}`)
}

// Expired counts the connections that were closed because their logins had ended.
func (s *Server) Expired(t testing.TB) int {
	t.Helper()
	return s.metric(t, `kafka_gateway_expired_sessions_total`)
}

// metric reads a number of the gateway's; 0 where there is none yet. Of a broker there is none.
func (s *Server) metric(t testing.TB, name string) int {
	t.Helper()
	if s.admin == "" {
		t.Skip("the numbers of a broker are not here")
	}
	resp, err := http.Get(s.admin + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(page)
	if found == nil {
		return 0
	}
	number, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return int(number)
}
