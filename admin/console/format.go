package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/iggykafka/gateway/coordinator"
)

// functions are what templates call.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"count":      func(n any) string { return humanize.Comma(integer(n)) },
		"plural":     plural,
		"bytes":      size,
		"total":      total,
		"rate":       perSecondText,
		"percent":    func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
		"took":       tookText,
		"visible":    visible,
		"link":       link,
		"iso":        func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"utc":        func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"relative":   func(t time.Time) string { return humanize.RelTime(t, now(), "ago", "from now") },
		"spark":      spark,
		"bar":        bar,
		"stateTag":   stateTag,
		"stateWords": func(s coordinator.State) string { return stateWords[s] },
	}
}

func integer(n any) int64 {
	switch n := n.(type) {
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case int64:
		return n
	case uint64:
		return int64(n)
	case float64:
		return int64(n)
	}
	return 0
}

// plural writes a number and its noun: "1 group", "2 groups".
func plural(n any, one, many string) string {
	if integer(n) == 1 {
		return "1 " + one
	}
	return humanize.Comma(integer(n)) + " " + many
}

// size writes bytes; a negative number is not known.
func size(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return humanize.IBytes(uint64(n))
}

func perSecondText(r float64) string {
	switch {
	case r == 0:
		return "0"
	case r < 0.01:
		return "< 0.01"
	case r < 10:
		return fmt.Sprintf("%.2f", r)
	case r < 100:
		return fmt.Sprintf("%.1f", r)
	}
	return humanize.Comma(int64(r + 0.5))
}

// tookText writes a time that something took; a negative one is not known.
func tookText(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// visible returns text of clients so that a reader sees what it is made of: what
// has no shape, or changes the direction of what stands around it, and bytes that
// are no UTF-8 are written as Go writes them, \u202e or \xff. Above longestText
// runes it is cut.
func visible(s string) string {
	var b strings.Builder
	runes := 0
	for i := 0; i < len(s); runes++ {
		if runes == longestText {
			fmt.Fprintf(&b, "… (%s in all)", plural(len(s), "byte", "bytes"))
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r != ' ' && !unicode.IsPrint(r):
			b.WriteString(strings.Trim(fmt.Sprintf("%+q", r), "'"))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// longestText is how many runes of one text a page shows.
const longestText = 300

// longestLink keeps addresses within what servers take for a request line. A name
// that does not fit is shown without a link.
const longestLink = 8 << 10

// link returns the address of a page about a name, "" if it would be too long. The
// name is in the query, because a path does not keep names such as ".." or "a//b".
func link(page, name string) string {
	query := url.QueryEscape(name)
	if len(query) > longestLink {
		return ""
	}
	return Root + page + "?name=" + query
}
