package handlertest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// sections are the headings that every handler's README has, in this order.
var sections = []string{
	"Versions", "Behaviour", "Errors", "Bad requests", "Differences from Kafka", "Limits", "Example",
}

var heading = regexp.MustCompile(`(?m)^## (.*)$`)

// Readme checks that a handler's README has the sections that readers look for
// and says the same as its Spec: name and key in the title, the range in
// Versions ("Serves versions 3–13, advertises 0–13."), the policy in Bad
// requests. A handler that declares checks has a section Authorization after
// Errors, with their table.
func Readme(t *testing.T, h handler.Handler, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	text, spec := string(raw), h.Spec()

	title, _, _ := strings.Cut(text, "\n")
	require.Equal(t, fmt.Sprintf("# %s (%d)", kmsg.NameForKey(spec.Key), spec.Key), title)

	bodies, order := map[string]string{}, []string(nil)
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := text[m[2]:m[3]]
		order, bodies[name] = append(order, name), text[m[1]:end]
		require.NotEmptyf(t, strings.TrimSpace(bodies[name]), "section %q is empty", name)
	}
	want := sections
	if len(spec.Checks) > 0 {
		want = slices.Insert(slices.Clone(sections), slices.Index(sections, "Errors")+1, "Authorization")
		require.Contains(t, bodies["Authorization"], ChecksTable(spec.Checks), "the table of the checks that the handler declares")
	}
	require.Equal(t, want, order, "the sections of the README")

	served := fmt.Sprintf("Serves versions %d–%d.", spec.Min, spec.Max)
	switch a := spec.Advertised(); {
	case a != spec.Range:
		served = fmt.Sprintf("Serves versions %d–%d, advertises %d–%d.", spec.Min, spec.Max, a.Min, a.Max)
	case spec.Min == spec.Max:
		served = fmt.Sprintf("Serves version %d.", spec.Min)
	}
	require.Contains(t, bodies["Versions"], served)

	policy := "INVALID_REQUEST"
	if spec.BadRequest.String() == handler.CloseConnection.String() {
		policy = "closes the connection"
	}
	require.Contains(t, bodies["Bad requests"], policy)
}

// ChecksTable writes declared checks as a table in Markdown.
func ChecksTable(checks []handler.Check) string {
	line := func(columns []string) string { return "| " + strings.Join(columns, " | ") + " |\n" }
	out := line(handler.ChecksHeader) + line([]string{"---", "---", "---", "---"})
	for _, c := range checks {
		out += line(c.Row())
	}
	return out
}
