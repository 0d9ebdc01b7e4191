package ssl

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// The grammar of rules, as Kafka's SslPrincipalMapper has it:
//
//	RULE:pattern/replacement/[LU]  or  DEFAULT, joined by commas
//
// where a backslash keeps the character after it from ending a part.
const rulePattern = `(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|.*?`

var (
	ruleSplitter = regexp.MustCompile(`[\s\v]*(` + rulePattern + `)[\s\v]*(?:,|$)`)
	ruleParser   = regexp.MustCompile(`^(?:` + rulePattern + `)`)
)

// mapping turns the name of a certificate into the name of a principal, by the
// first rule whose pattern matches all of it.
type mapping []rule

type rule struct {
	pattern     *regexp.Regexp // nil for DEFAULT: the name as it is
	whole       *regexp.Regexp // pattern, if it matches all of a text
	atEnd       *regexp.Regexp // pattern, if it matches the empty text at the end
	replacement string         // as Java's String.replaceAll takes it
	change      func(string) string
}

// errNoRule is a name that no rule matches. Kafka closes such a connection, too.
var errNoRule = errors.New("no rule of tls.principal_mapping_rules matches")

// parseMapping reads rules. An empty text is DEFAULT.
func parseMapping(text string) (mapping, error) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	if text == "" {
		text = "DEFAULT"
	}
	var m mapping
	for _, found := range ruleSplitter.FindAllStringSubmatch(text, -1) {
		r, empty, err := parseRule(found[1])
		if err != nil {
			return nil, err
		}
		if !empty {
			m = append(m, r)
		}
	}
	if len(m) == 0 {
		return nil, errors.New("has no rule")
	}
	return m, nil
}

func parseRule(text string) (r rule, empty bool, err error) {
	found := ruleParser.FindStringSubmatch(text)
	if rest := text[len(found[0]):]; rest != "" {
		return r, false, fmt.Errorf("%q is no rule, from %q on; write RULE:pattern/replacement/ and L or U after it, or DEFAULT", text, rest)
	}
	switch {
	case found[1] != "":
		return rule{change: same}, false, nil
	case text == "":
		return r, true, nil
	}
	r.replacement, r.change = found[3], same
	switch found[4] {
	case "L":
		r.change = lower
	case "U":
		r.change = upper
	}
	if classesOfJava(found[2]) {
		return r, false, fmt.Errorf("the pattern of %q has a class within a class, or &&, which mean something else in Java than here", text)
	}
	if r.pattern, err = regexp.Compile(found[2]); err != nil {
		return r, false, fmt.Errorf("the pattern of %q is not understood: %s; look-around, back references, possessive quantifiers and atomic groups of Java are not",
			text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	r.whole = regexp.MustCompile(`\A(?:` + found[2] + `)\z`)
	r.atEnd = regexp.MustCompile(`\A(?s:.*)((?:` + found[2] + `)\z)`)
	// A replacement may be wrong for some names alone; as Java does not look before
	// it is used, neither may a rule be refused here that is never used.
	return r, false, nil
}

// classesOfJava tells whether a pattern has a class that Java and RE2 read
// differently: a union such as [a-c[x]], an intersection such as [a-z&&[^b]].
func classesOfJava(pattern string) bool {
	within := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case !within && strings.HasPrefix(rest, `\Q`):
			quoted, _, _ := strings.Cut(rest, `\E`)
			i += len(quoted)
		case rest[0] == '\\':
			i++
		case !within:
			within = rest[0] == '['
		case rest[0] == '[' || strings.HasPrefix(rest, "&&"):
			return true
		case rest[0] == ']':
			within = false
		}
	}
	return false
}

func same(s string) string { return s }

// lower and upper change letters as Java does, which may change their number. A
// Caser is for one goroutine.
func lower(s string) string { return cases.Lower(language.English).String(s) }
func upper(s string) string { return cases.Upper(language.English).String(s) }

// lineEnds are what a dot matches in RE2 and not in Java. A name with one of them
// is nobody's honest name: no pattern matches it.
const lineEnds = "\r\u0085\u2028\u2029"

// name returns the principal's name.
func (m mapping) name(distinguished string) (string, error) {
	for _, r := range m {
		switch {
		case r.pattern == nil:
			return distinguished, nil
		case strings.ContainsAny(distinguished, lineEnds):
			continue
		case r.whole.MatchString(distinguished):
			name, err := r.replaceAll(distinguished)
			if err != nil {
				return "", err
			}
			return r.change(name), nil
		}
	}
	return "", errNoRule
}

// replaceAll is Java's String.replaceAll: every match of the pattern, which need
// not be the whole that made the rule apply, is replaced.
func (r rule) replaceAll(text string) (string, error) {
	var b strings.Builder
	last := 0
	matches := r.pattern.FindAllStringSubmatchIndex(text, -1)
	for _, match := range matches {
		b.WriteString(text[last:match[0]])
		if err := r.expand(&b, text, match); err != nil {
			return "", err
		}
		last = match[1]
	}
	b.WriteString(text[last:])
	// After a match that reaches the end Java finds an empty one there, too.
	if n := len(text); last == n && len(matches) > 0 && matches[len(matches)-1][0] < n {
		if match := r.atEnd.FindStringSubmatchIndex(text); match != nil && match[2] == n {
			if err := r.expand(&b, text, append([]int{n, n}, match[4:]...)); err != nil {
				return "", err
			}
		}
	}
	return b.String(), nil
}

// expand writes the replacement of one match: $1, ${name}, and a backslash before
// what is meant as it stands. A group that the pattern does not have is text, where
// the pattern has any group at all.
func (r rule) expand(b *strings.Builder, text string, match []int) error {
	for rest := r.replacement; rest != ""; {
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteByte(rest[1])
			rest = rest[2:]
		case rest[0] == '\\':
			return r.wrong("a backslash ends it")
		case rest[0] != '$':
			b.WriteByte(rest[0])
			rest = rest[1:]
		default:
			group, length, err := r.group(rest)
			switch {
			case err != nil:
				return err
			case group < 0: // text
				b.WriteByte('$')
			case match[2*group] >= 0:
				b.WriteString(text[match[2*group]:match[2*group+1]])
			}
			rest = rest[length:]
		}
	}
	return nil
}

// group reads a reference to a group at the start of text, and returns its number,
// -1 where it is text, and how long it is.
func (r rule) group(text string) (number, length int, err error) {
	groups := r.pattern.NumSubexp()
	if strings.HasPrefix(text, "${") {
		name, _, closed := strings.Cut(text[2:], "}")
		if number = r.pattern.SubexpIndex(name); !closed || number < 0 {
			return 0, 0, r.wrong(fmt.Sprintf("there is no group %q", name))
		}
		return number, len(name) + 3, nil
	}
	digits := 1
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	if digits == 1 {
		return 0, 0, r.wrong("a $ stands without the number of a group")
	}
	// As many digits as still make a group.
	for length = 2; length <= digits; length++ {
		n, err := strconv.Atoi(text[1:length])
		if err != nil || n > groups {
			break
		}
		number = n
	}
	if length--; length > 1 {
		return number, length, nil
	}
	if groups == 0 {
		return 0, 0, r.wrong("there is no group " + text[1:2])
	}
	return -1, 1, nil
}

func (r rule) wrong(why string) error {
	return fmt.Errorf("the replacement %q of tls.principal_mapping_rules: %s", r.replacement, why)
}
