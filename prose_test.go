package snowgrid_test

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// habit is a habit of writing that makes text hard to read if it occurs often.
type habit struct {
	name    string
	pattern *regexp.Regexp
	target  float64 // occurrences per 1,000 words
}

// habits are checked in lower-case text. Model codebases (etcd-io/raft, memberlist) have lower rates.
var habits = []habit{
	{"somebody", regexp.MustCompile(`\b(nobody|somebody|anybody|everybody|whoever)\b`), 0.1},
	{"is-how", regexp.MustCompile(`\b(is|are|was) (how|when|where|why|whether|what|who|which)\b`), 0.3},
	{"human", regexp.MustCompile(`\b(tells?|told|hears?|heard|says?|said|know|knows|knew|known|ask|asks|asked|` +
		`wants?|wanted|believes?|believed|show|shows|shown)\b`), 3},
	{"those-that", regexp.MustCompile(`\b(that|those) of\b|\b(those|ones?|none) that\b|\bof those\b`), 0.5},
	{"of", regexp.MustCompile(`\bof\b`), 24},
}

const (
	// proseWordsMin is the length below which a text is too short for rates.
	proseWordsMin = 1000
	// proseSlack is the improvement after which a listed rate has to be lowered.
	proseSlack = 0.1
)

// rates are occurrences per 1,000 words, by habit.
type rates map[string]float64

// proseRates are the accepted rates of a text.
type proseRates struct {
	text  string
	above rates
}

// proseAbove lists the rates above a target that are accepted for now: by text. A rate may
// fall below its listed value, but may not exceed it.
var proseAbove = []proseRates{
	{"proof/explore strings", rates{"human": 13.5, "those-that": 0.82, "of": 29.7}},
}

var (
	proseWord = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)
	verb      = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`) // a formatting verb is not a word
)

// prose is the English in the Go files of a directory, tests excluded.
type prose struct {
	comments, strings strings.Builder
}

// TestProse keeps the rates of habits at their targets: in the comments, and in the strings, of
// each package with at least 1,000 words.
func TestProse(t *testing.T) {
	texts := proseTexts(t)
	listed := map[string]rates{}
	for _, r := range proseAbove {
		listed[r.text] = r.above
		if _, ok := texts[r.text]; !ok {
			t.Errorf("%s: no such text; remove it from proseAbove", r.text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		report(t, checkProse(name, texts[name], listed[name]))
	}
}

// proseTexts returns each package's comments by path, and its strings by "PATH strings", in lower case.
func proseTexts(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]*prose{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		generated := strings.HasSuffix(name, ".pb.go")
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || generated {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if dirs[dir] == nil {
			dirs[dir] = &prose{}
		}
		dirs[dir].read(readFile(t, name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for dir, p := range dirs {
		texts[dir] = strings.ToLower(p.comments.String())
		if dir != "proof/mutants" { // its strings are code
			texts[dir+" strings"] = strings.ToLower(p.strings.String())
		}
	}
	return texts
}

// read appends the comments of a Go file, and its strings of at least three words.
func (p *prose) read(source string) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", fset.Base(), len(source)), []byte(source), nil, scanner.ScanComments)
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return
		case tok == token.COMMENT && !strings.HasPrefix(text, "//go:") && !strings.HasPrefix(text, "//nolint"):
			p.comments.WriteString(strings.Trim(text, "/*") + "\n")
		case tok == token.STRING && text[0] == '"':
			value, err := strconv.Unquote(text)
			value = verb.ReplaceAllString(value, "")
			if err == nil && len(strings.Fields(value)) >= 3 {
				p.strings.WriteString(value + "\n")
			}
		}
	}
}

// checkProse compares a text's rates with the targets, and with the listed rates above them.
func checkProse(name, text string, listed rates) (problems []string) {
	words := len(proseWord.FindAllString(text, -1))
	for _, h := range habits {
		limit := cmp.Or(listed[h.name], h.target)
		found := len(h.pattern.FindAllString(text, -1))
		rate := 1000 * float64(found) / float64(max(1, words))
		switch {
		case words < proseWordsMin && listed[h.name] > 0, listed[h.name] > 0 && rate <= h.target:
			problems = append(problems, fmt.Sprintf("%s: %s: no longer above the target; remove it from proseAbove", name,
				h.name))
		case words < proseWordsMin:
		case rate > limit:
			problems = append(problems, fmt.Sprintf(
				"%s: %s: %.2f per 1,000 words, at most %.2f: %d in %d words; rewrite some:\n%s",
				name, h.name, rate, limit, found, words, proseLines(text, h.pattern)))
		case listed[h.name] > 0 && rate < limit*(1-proseSlack):
			problems = append(problems, fmt.Sprintf("%s: %s: %.2f per 1,000 words; lower its %.2f in proseAbove to %.2f",
				name, h.name, rate, limit, rate*1.03))
		}
	}
	return problems
}

// proseLines returns up to ten lines of a text that match a pattern.
func proseLines(text string, pattern *regexp.Regexp) string {
	var lines []string
	for line := range strings.Lines(text) {
		if pattern.MatchString(line) && len(lines) < 10 {
			lines = append(lines, "\t"+strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// TestProseCanFail gives the check texts that it must reject, and texts that it must accept.
func TestProseCanFail(t *testing.T) {
	var p prose
	p.read("package x\n\n// A comment of the package.\n//go:generate of nothing\n" +
		"import _ \"net/of\"\n\nvar a = \"one of %d words\" + \"of two\" + `raw of x y`\n")
	if got := p.comments.String(); got != " A comment of the package.\n" {
		t.Errorf("comments: %q", got)
	}
	if got := p.strings.String(); got != "one of  words\n" {
		t.Errorf("strings: %q", got)
	}
	fill := func(text string) string { return text + strings.Repeat(" word", 1000) }
	for _, c := range []struct {
		text   string
		listed rates
		ok     bool
	}{
		{fill("nobody"), nil, false},
		{fill("those that and those that"), nil, false},
		{fill("it is how"), nil, false},
		{fill(strings.Repeat("tells ", 4)), nil, false},
		{fill(strings.Repeat("of ", 30)), nil, false},
		{fill(strings.Repeat("of ", 20) + "tells known"), nil, true},
		{strings.Repeat("of ", 999), nil, true},
		{fill(strings.Repeat("of ", 30)), rates{"of": 29.5}, true},
		{fill(strings.Repeat("of ", 31)), rates{"of": 29.5}, false},
		{fill(strings.Repeat("of ", 27)), rates{"of": 29.5}, false},
		{fill(strings.Repeat("of ", 20)), rates{"of": 22}, false},
		{"of", rates{"of": 30}, false},
	} {
		if problems := checkProse("x", c.text, c.listed); (len(problems) == 0) != c.ok {
			t.Errorf("%.60q, listed %v: %q", c.text, c.listed, problems)
		}
	}
}
