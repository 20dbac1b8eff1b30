package snowgrid_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	// The packages of the snippets: go test builds them before it runs TestSnippetsCompile, which
	// would build them a second time beside it.
	_ "github.com/snowgrid/snowgrid/client/store/storetest"
	_ "github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	_ "github.com/snowgrid/snowgrid/metrics"
)

// pageWordsMax bounds a page, so that it is read in one sitting.
const pageWordsMax = 1500

var (
	wordLike  = regexp.MustCompile(`[A-Za-z0-9]`)
	generated = regexp.MustCompile(`(?ms)^<!-- \w+: generated -->.*?^<!-- end -->`)
	goFence   = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	codeFence = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	clearText = regexp.MustCompile(`http://([\w.-]+)(:\d+)?`)
	makeCall  = regexp.MustCompile("(?m)(?:^ +|`)make ([a-z][a-z-]*)")
	goCall    = regexp.MustCompile(
		`(?:cd ([\w./-]+) && )?go (?:run|test|vet|build|install)(?: -C ([\w./-]+))?(?: -\w+(?: \d\w*)?)* (\./[\w./-]*)`)
	goPath = regexp.MustCompile("`((?:[\\w.-]+/)+[\\w-]+\\.go|internal/[a-z/]+)`")
	ciCall = regexp.MustCompile(`\.ci/[a-z]+`)
)

// TestDocs checks each page beyond its words and the files that it links to.
func TestDocs(t *testing.T) {
	targets := readFile(t, "Makefile")
	for _, name := range markdownFiles(t) {
		t.Run(name, func(t *testing.T) {
			text := readFile(t, name)
			if bounded(name) {
				report(t, slices.Concat(checkLength(name, text), checkColumns(name, text)))
			}
			if strings.HasPrefix(name, "docs/") || name == "README.md" {
				report(t, checkClearText(name, text))
			}
			if name != "CHANGELOG.md" {
				report(t, slices.Concat(checkAnchors(name, text, anchorsOf), checkCalls(name, text, targets, exists),
					checkPaths(name, text, exists)))
			}
		})
	}
}

// bounded reports whether a page is one for people to read from top to bottom.
func bounded(name string) bool {
	return strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "grid/") || !strings.Contains(name, "/") &&
		name != "CHANGELOG.md"
}

// checkLength bounds the words of a page, without its generated tables.
func checkLength(name, text string) []string {
	words := 0
	for _, word := range strings.Fields(generated.ReplaceAllString(text, "")) {
		if wordLike.MatchString(word) {
			words++
		}
	}
	if words > pageWordsMax {
		return []string{fmt.Sprintf("%s: %d words, more than %d; divide it", name, words, pageWordsMax)}
	}
	return nil
}

// checkColumns bounds the lines of prose; tables, code and comments may be wider.
func checkColumns(name, text string) (problems []string) {
	inCode := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inCode = !inCode
		}
		wide := inCode || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "<!--")
		if columns := utf8.RuneCountInString(line); !wide && columns > 120 {
			problems = append(problems, fmt.Sprintf("%s:%d: %d columns, more than 120", name, i+1, columns))
		}
	}
	return problems
}

// checkClearText refuses addresses without TLS that other machines reach: security is on there.
// The ops port is clear text always.
func checkClearText(name, text string) (problems []string) {
	for _, match := range clearText.FindAllStringSubmatch(text, -1) {
		if host := match[1]; host != "localhost" && !strings.HasPrefix(host, "127.") && match[2] != ":7949" {
			problems = append(problems, fmt.Sprintf("%s: %s is reached by other machines, where security is on: write https",
				name, match[0]))
		}
	}
	return problems
}

// anchorsOf returns the anchors of a page, nil if it is no page.
func anchorsOf(name string) []string {
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil || path.Ext(name) != ".md" {
		return nil
	}
	return anchors(string(text))
}

var notAnchor = regexp.MustCompile(`[^\w\- ]`)

func anchors(text string) []string {
	found := []string{""}
	for _, match := range heading.FindAllStringSubmatch(codeFence.ReplaceAllString(text, ""), -1) {
		found = append(found, strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(match[1])),
			""), " ", "-"))
	}
	return found
}

// checkAnchors wants the headings that links lead to.
func checkAnchors(name, text string, anchorsOf func(string) []string) (problems []string) {
	for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, ":") || anchor == "" {
			continue
		}
		page := name
		if target != "" {
			page = path.Join(path.Dir(name), target)
		}
		if all := anchorsOf(page); all != nil && !slices.Contains(all, anchor) {
			problems = append(problems, fmt.Sprintf("%s: %s has no heading #%s", name, page, anchor))
		}
	}
	return problems
}

// checkCalls wants the make targets, packages and scripts that a page has commands of.
func checkCalls(name, text, makefile string, exists func(string) bool) (problems []string) {
	for _, match := range makeCall.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(makefile, "\n"+match[1]+":") {
			problems = append(problems, fmt.Sprintf("%s: the Makefile has no target %s", name, match[1]))
		}
	}
	for _, match := range goCall.FindAllStringSubmatch(text, -1) {
		from := path.Join(".", match[1], match[2])
		dir := path.Join(from, strings.TrimSuffix(match[3], "..."))
		in := moduleOf(dir, exists)
		switch beside := path.Join(path.Dir(name), dir); {
		case !exists(dir) && !exists(beside):
			problems = append(problems, fmt.Sprintf("%s: %s: there is no %s", name, match[0], dir))
		case exists(dir) && in != "." && from != in && !strings.HasPrefix(from, in+"/"):
			problems = append(problems, fmt.Sprintf("%s: %s: %s is in the module %s; write go ... -C %s", name, match[0],
				dir, in, in))
		}
	}
	for _, script := range ciCall.FindAllString(text, -1) {
		if !exists(script) {
			problems = append(problems, fmt.Sprintf("%s: there is no %s", name, script))
		}
	}
	return problems
}

// checkPaths wants the Go files and internal packages that a page names, from the root of the
// repository, from the page, or from the directory whose design it is a part of.
func checkPaths(name, text string, exists func(string) bool) (problems []string) {
	from := []string{"", path.Dir(name), path.Dir(path.Dir(name))}
	for _, match := range goPath.FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(from, func(dir string) bool { return exists(path.Join(dir, match[1])) }) {
			problems = append(problems, fmt.Sprintf("%s: there is no %s", name, match[1]))
		}
	}
	return problems
}

// TestEveryCodeIsExplained: docs/api.md has each code of an error with its status and whether to retry, and no
// other code.
func TestEveryCodeIsExplained(t *testing.T) {
	names, statuses := wire.Codes()
	if len(names) < 30 {
		t.Fatalf("only %d codes were found", len(names))
	}
	_, table, _ := strings.Cut(readFile(t, "docs/api.md"), "| code | status | retry |")
	rows := regexp.MustCompile(`(?m)^\| (`+"`.*`"+`) \| (\d+) \| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(table, -1)
	explained := map[string]string{}
	for _, row := range rows {
		for code := range strings.SplitSeq(row[1], ", ") {
			explained[strings.Trim(code, "`")] = row[2]
		}
		if !regexp.MustCompile("^(no|later|yes.*|after `retry_after_ms`|with `retry_after_ms`)$").MatchString(row[3]) {
			t.Errorf("docs/api.md: %s: retry is %q", row[1], row[3])
		}
	}
	for _, name := range names {
		if want := strconv.Itoa(statuses[name]); explained[name] != want {
			t.Errorf("docs/api.md: the code %s has the status %q, the API answers with %s", name, explained[name], want)
		}
	}
	if len(explained) != len(names) {
		t.Errorf("docs/api.md has %d codes, the API %d", len(explained), len(names))
	}
}

// TestEveryTextIsReal: the texts of logs and errors by which the runbook is read are in the code, and
// so is every alert.
func TestEveryTextIsReal(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, "docs/runbook.md"), "## By text\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var code strings.Builder
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			code.WriteString(readFile(t, filepath.Join(p.Dir, name)))
		}
	}
	texts := 0
	for line := range strings.Lines(table) {
		first, _, found := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !found || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			texts++
			if !strings.Contains(code.String(), match[1]) {
				t.Errorf("docs/runbook.md: no code has the text %q", match[1])
			}
		}
	}
	if texts < 10 {
		t.Errorf("only %d texts were found", texts)
	}
	for _, alert := range regexp.MustCompile(`(?m)^\t\{"([a-z_]+)", \[\]Severity`).FindAllStringSubmatch(readFile(t,
		"grid/alerts.go"), -1) {
		if !strings.Contains(readFile(t, "docs/runbook.md"), "`"+alert[1]+"`") {
			t.Errorf("docs/runbook.md has no step for the alert %s", alert[1])
		}
	}
}

// TestPagesThatCodeNames: the pages that sources and manifests refer to exist.
func TestPagesThatCodeNames(t *testing.T) {
	page := regexp.MustCompile(`\bdocs/[a-z-]+\.md`)
	named := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !slices.Contains([]string{".go", ".yaml", ".json", ".in"}, filepath.Ext(name)) {
			return nil
		}
		for _, found := range page.FindAllString(readFile(t, name), -1) {
			if named++; !exists(found) {
				t.Errorf("%s: there is no %s", name, found)
			}
		}
		return nil
	})
	if err != nil || named < 20 {
		t.Errorf("%d pages are named: %v", named, err)
	}
}

// moduleOf returns the directory with the go.mod of a package.
func moduleOf(dir string, exists func(string) bool) string {
	for dir != "." && !exists(path.Join(dir, "go.mod")) {
		dir = path.Dir(dir)
	}
	return dir
}

// snippetImports are the packages that snippets use, by the name in them.
var snippetImports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "os": "os", "slog": "log/slog",
	"synctest": "testing/synctest", "testing": "testing", "time": "time",
	"client": module + "/client", "epoch": module + "/epoch", "grid": module + "/grid", "gridtest": module +
		"/grid/gridtest", "metrics": module + "/metrics",
	"security": module + "/security", "sequencer": module + "/sequencer", "store": module + "/client/store",
	"storetest":  module + "/client/store/storetest",
	"prometheus": "github.com/prometheus/client_golang/prometheus",
	"promhttp":   "github.com/prometheus/client_golang/prometheus/promhttp",
}

// elsewhere are words by which a snippet is known that needs a module which this one does not.
var elsewhere = []string{"gorm", "mystore", "idPattern"}

// snippetHead has what the text around a snippet has declared.
const snippetHead = `
func snippet%d(ctx context.Context, member *grid.Member, c *client.Client, orders *sequencer.Sequencer, addrs []string, dir string, t time.Time) error {
	{
%s
		%s
	}
	return nil
}
`

// snippetFile returns a snippet as a file: a program under another name, declarations with the imports that
// they need, and statements in a function.
func snippetFile(n int, text string) (string, error) {
	if program, ok := strings.CutPrefix(text, "package main\n"); ok { // with others in one package
		return strings.Replace("package snippet\n"+program, "func main() {", fmt.Sprintf("func main%d() {", n), 1), nil
	}
	body := text
	if !strings.HasPrefix(text, "func ") && !strings.HasPrefix(text, "type ") {
		names, err := definedIn(text)
		if err != nil {
			return "", err
		}
		body = fmt.Sprintf(snippetHead, n, text, names)
	}
	var head strings.Builder
	head.WriteString("package snippet\n\nimport (\n")
	for name, from := range snippetImports {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(body) {
			fmt.Fprintf(&head, "\t%q\n", from)
		}
	}
	return head.String() + ")\n" + body, nil
}

// definedIn returns a statement that uses the variables which statements define.
func definedIn(text string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "snippet.go", "package x\nfunc f() error {\n"+text+"\n}",
		parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var names []string
	for _, stmt := range file.Decls[0].(*ast.FuncDecl).Body.List {
		define, ok := stmt.(*ast.AssignStmt)
		if !ok || define.Tok != token.DEFINE {
			continue
		}
		for _, left := range define.Lhs {
			if ident, ok := left.(*ast.Ident); ok && ident.Name != "_" {
				names = append(names, ident.Name)
			}
		}
	}
	return "use(" + strings.Join(names, ", ") + ")", nil
}

// TestSnippetsCompile compiles the Go snippets of the pages.
func TestSnippetsCompile(t *testing.T) {
	dir, n := t.TempDir(), 0
	files := []string{filepath.Join(dir, "head.go")}
	if err := os.WriteFile(files[0],
		[]byte("package snippet\n\nfunc must[T any](v T, err error) T { return v }\nfunc use(...any) {}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range markdownFiles(t) {
		if path.Base(name) == "DESIGN.md" { // parts of the real code
			continue
		}
		for _, match := range goFence.FindAllStringSubmatch(readFile(t, name), -1) {
			if slices.ContainsFunc(elsewhere, func(word string) bool { return strings.Contains(match[1], word) }) {
				continue
			}
			n++
			text, err := snippetFile(n, match[1])
			if err != nil {
				t.Errorf("%s: snippet %q: %v", name, match[1], err)
				continue
			}
			file := filepath.Join(dir, fmt.Sprintf("%s%d.go", strings.NewReplacer("/", "_", ".", "_").Replace(name), n))
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	if len(files) < 10 {
		t.Fatalf("only %d snippets were found", len(files))
	}
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", os.DevNull}, files...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDocsCanFail gives each check an input that it must refuse, and one that it must not.
func TestDocsCanFail(t *testing.T) {
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	page := func(string) []string { return anchors("# A\n## One, two\n```\n# no\n```\n") }
	tests := []struct {
		name      string
		bad, good []string
	}{
		{"length", checkLength("x", strings.Repeat("a ", 1501)), checkLength("x", strings.Repeat("a | ", 1500))},
		{"generated", checkLength("x", strings.Repeat("a ", 1501)),
			checkLength("x", "<!-- x: generated -->\n"+strings.Repeat("a ", 1501)+"\n<!-- end -->")},
		{"columns", checkColumns("x", strings.Repeat("a", 121)),
			checkColumns("x", "|"+strings.Repeat("a", 121)+"\n"+strings.Repeat("é", 120))},
		{"clear text", checkClearText("x", "curl http://a:7948/"),
			checkClearText("x", "http://127.0.0.1:7948 https://a http://a:7949/metrics")},
		{"anchor", checkAnchors("x.md", "[a](y.md#no)", page), checkAnchors("x.md", "[a](y.md#one-two) [b](#a)", page)},
		{"target", checkCalls("x.md", "`make sim`", "", all), checkCalls("x.md", "`make sim`", "\nsim: ## x", all)},
		{"package", checkCalls("x.md", "go test ./proof/sim", "", none),
			checkCalls("x.md", "go test ./proof/sim", "", func(n string) bool { return path.Base(n) != "go.mod" })},
		{"module", checkCalls("x.md", "go test ./m/sim", "", func(n string) bool {
			return n != "go.mod" &&
				n != "m/sim/go.mod"
		}), checkCalls("x.md", "cd m && go test ./sim; go test -C m -v ./sim", "",
			func(n string) bool { return n != "go.mod" && n != "m/sim/go.mod" })},
		{"path", checkPaths("x/y.md", "`a/b.go`", none), checkPaths("x/y.md", "`a/b.go` `internal/c`", all)},
		{"script", checkCalls("x.md", "`.ci/run`", "", none), checkCalls("x.md", "`.ci/run`", "", all)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if len(test.bad) != 1 {
				t.Errorf("the bad input has %d problems, want 1: %q", len(test.bad), test.bad)
			}
			if len(test.good) != 0 {
				t.Errorf("the good input has problems: %q", test.good)
			}
		})
	}
}
