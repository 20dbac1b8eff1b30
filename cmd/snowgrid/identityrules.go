package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/snowgrid/snowgrid/security"
)

// maxRules is the maximum number of rules in a file.
const maxRules = 10_000

// readRules reads a file for --identity-rules. A line has a pattern, a role and, separated by commas
// or spaces, name patterns. A pattern with spaces is in double quotes. Empty lines and lines starting
// with # are skipped.
func readRules(file string) ([]security.Rule, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("%s; give the path of a file with rules", cause(err))
	}
	if info.Size() > answerBytesMax || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it has %d bytes, or is not a regular file; give a file with rules", info.Size())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s; give the path of a file that this process can read", cause(err))
	}
	var rules []security.Rule
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		rule, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", i+1, sentence(err))
		}
		rules = append(rules, rule)
	}
	if len(rules) == 0 || len(rules) > maxRules {
		return nil, fmt.Errorf("it has %d rules; give 1 to %d, one a line, such as: subject:CN=web-* holder orders-*",
			len(rules), maxRules)
	}
	return rules, nil
}

func parseRule(line string) (security.Rule, error) {
	var pattern, rest string
	if quoted, found := strings.CutPrefix(line, `"`); found {
		if pattern, rest, found = strings.Cut(quoted, `"`); !found {
			return security.Rule{}, fmt.Errorf("%.80q: the quote does not end", line)
		}
	} else {
		end := strings.IndexAny(line+" ", " \t")
		pattern, rest = line[:end], line[end:]
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	if len(words) == 0 {
		return security.Rule{}, fmt.Errorf(
			"%.80q has no role; write PATTERN ROLE [NAMES], such as: subject:CN=web-* holder orders-*", line)
	}
	rule := security.Rule{Match: security.Pattern(pattern), Role: security.Role(words[0])}
	for _, name := range words[1:] {
		rule.Names = append(rule.Names, security.Pattern(name))
	}
	return rule, rule.Check()
}
