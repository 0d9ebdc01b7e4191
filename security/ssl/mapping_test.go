package ssl

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var controls = strings.NewReplacer("<cr>", "\r", "<nl>", "\n", "<tab>", "\t")

// rows reads a table of testdata: fields with tabs between them.
func rows(t *testing.T, file string) (all [][]string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		fields := strings.Split(line, "\t")
		for i := range fields {
			fields[i] = controls.Replace(fields[i])
		}
		all = append(all, fields)
	}
	require.NotEmpty(t, all)
	return all
}

func TestNamesAreThoseOfJava(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "testdata/names.txt") {
		subject, err := hex.DecodeString(row[0])
		require.NoError(t, err)
		name, err := distinguishedName(subject)
		require.NoError(t, err)
		require.Equal(t, row[1], name)
	}
	for _, bad := range []string{"", "30", "3003020101", "30020500ff", "300d310b300906035504030c0261"} {
		subject, err := hex.DecodeString(bad)
		require.NoError(t, err)
		_, err = distinguishedName(subject)
		require.Error(t, err, bad)
	}
}

func TestRulesAreThoseOfKafka(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "testdata/mapping.txt") {
		m, err := parseMapping(row[0])
		var name string
		if err == nil {
			name, err = m.name(row[1])
		}
		switch want := row[len(row)-1]; {
		case want[0] == '!':
			require.Error(t, err, "%q of %q is %q", row[0], row[1], name)
		default:
			require.NoError(t, err, row[0])
			require.Equal(t, want[2:], name, "%q of %q", row[0], row[1])
		}
	}
}

// What RE2 does not know is told at the start, not when somebody connects.
func TestPatternsOfJavaAlone(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`CN=(?=a).*`, `CN=(?!a).*`, `(?<=x)CN`, `(?<!x)CN`, `CN=(.)\1`, `CN=.*+`, `(?>CN)=.*`, `CN=[a-z&&[^b]]`, `CN=[a-c[x-z]]`, `CN=[a-z&&b]`, `CN=[[:alpha:]]`, `\h`, `[`, `(`} {
		m, err := parseMapping("RULE:" + pattern + "/$1/")
		require.Error(t, err, pattern)
		require.Empty(t, m)
	}
}

func TestBracketsThatAreNoClass(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`CN=\[a\[b.*`, `\Q[[\E`, `[\[]`, `[a&]`, `[^,]*,[^,]*`} {
		_, err := parseMapping("RULE:" + pattern + "/x/")
		require.NoError(t, err, pattern)
	}
}

// Java's dot matches no end of a line, and neither do rules here.
func TestNamesWithEndsOfLines(t *testing.T) {
	t.Parallel()
	m, err := parseMapping("RULE:CN=.*/x/")
	require.NoError(t, err)
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		_, err = m.name("CN=a" + end + "b")
		require.ErrorIs(t, err, errNoRule)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add(`RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L,DEFAULT`, "CN=a,OU=b")
	f.Add(`RULE:.*/\$1$2/`, "CN=a")
	f.Fuzz(func(t *testing.T, rules, name string) {
		if m, err := parseMapping(rules); err == nil {
			_, _ = m.name(name)
		}
	})
}
