package snowgrid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/snowgrid/snowgrid"

// imports lists the packages that a package may import besides the standard library.
type imports struct {
	internal []string // packages of this module; "*" is all of them
	modules  []string // other modules, as path prefixes
	pure     bool     // it decides and never waits: see impure
	besides  []string // packages that a pure package uses all the same, and functions of time with their file
}

// importMap is the design as a table. A package without a row fails: a new
// package is a decision, and it is taken here.
var importMap = map[string]imports{
	".":                {},
	"internal/cycles":  {},
	"internal/failure": {pure: true},
	"internal/attachment": {pure: true, internal: []string{"internal/failure", "internal/attachment/bridge",
		"internal/clustertime", "sequencer"}},
	"internal/attachment/bridge": {pure: true, internal: []string{"internal/clustertime", "internal/spelling"}},
	"internal/session": {pure: true, internal: []string{"internal/clustertime", "internal/attachment",
		"sequencer", "internal/roster"}},
	"internal/handles": {internal: []string{"internal/clustertime", "internal/attachment", "sequencer",
		"internal/failure", "internal/signal"}},
	"internal/fork":     {},
	"internal/verify":   {internal: []string{"internal/foreign", "sequencer"}},
	"internal/foreign":  {pure: true, internal: []string{"epoch", "sequencer"}},
	"internal/logqueue": {},
	"internal/ending":   {},
	"internal/kongdocs": {internal: []string{"internal/buildinfo"},
		modules: []string{"github.com/alecthomas/kong"}},
	"internal/kongtest": {internal: []string{"internal/kongdocs"},
		modules: []string{"github.com/alecthomas/kong"}},
	"internal/tracing":         {},
	"internal/grants":          {pure: true},
	"internal/spelling":        {pure: true},
	"internal/measure":         {pure: true},
	"internal/long":            {modules: []string{"golang.org/x/sys/unix"}},
	"internal/faultproxy":      {},
	"internal/definitionflags": {pure: true, internal: []string{"epoch", "sequencer"}},
	"internal/sqlfunctions":    {pure: true, internal: []string{"sequencer"}},
	"internal/sqltest":         {internal: []string{"internal/loopback"}},
	"internal/loopback":        {},
	"internal/buildinfo":       {},
	"internal/script":          {},
	"internal/identity": {internal: []string{"internal/durable", "internal/failure", "internal/signal",
		"internal/identity/numbers", "internal/roster", "security", "internal/attachment", "sequencer", "internal/wire"}},
	"internal/identity/numbers": {pure: true, internal: []string{"internal/spelling", "internal/failure"}},
	"epoch":                     {pure: true},
	"internal/clustertime":      {pure: true},
	"idtext":                    {pure: true, internal: []string{"internal/failure", "sequencer"}},
	"compat/snowflake":          {pure: true, internal: []string{"epoch", "internal/failure", "sequencer"}},
	"compat/sonyflake":          {internal: []string{"internal/failure", "sequencer"}},
	"sequencer": {pure: true, internal: []string{"epoch", "internal/attachment/bridge",
		"internal/clustertime", "internal/cycles", "internal/failure", "internal/fork", "internal/spelling"},
		besides: generatorUses},
	"internal/roster": {pure: true, internal: []string{"internal/clustertime", "internal/spelling",
		"internal/identity/numbers"}},
	"internal/roster/plan": {pure: true, internal: []string{"internal/clustertime", "internal/roster"},
		modules: []string{"github.com/buraksezer/consistent"}},
	"internal/roster/follow": {pure: true, internal: []string{"internal/roster"}},
	"internal/roster/internal/rostertest": {internal: []string{"internal/clustertime", "internal/roster"},
		modules: []string{"pgregory.net/rapid"}},
	"backup": {pure: true, internal: []string{"internal/clustertime", "internal/roster"}},
	"partition": {pure: true, internal: []string{"internal/clustertime", "internal/attachment",
		"sequencer", "internal/roster", "backup", "internal/failure"}},
	"internal/leader": {pure: true, internal: []string{"internal/clustertime", "internal/identity/numbers",
		"internal/roster",
		"internal/roster/plan", "internal/leader/anchor", "internal/failure", "internal/spelling"}},
	"internal/recovery": {pure: true, internal: []string{"backup", "internal/clustertime", "internal/identity/numbers",
		"internal/leader", "internal/roster"}},
	"internal/leader/anchor": {pure: true, internal: []string{"internal/clustertime", "internal/roster"}},
	"security":               {internal: []string{"internal/durable", "internal/spelling"}},
	"internal/authority":     {internal: []string{"internal/durable", "internal/spelling", "security"}},
	"internal/token": {internal: []string{"internal/spelling", "security"},
		modules: []string{"github.com/golang-jwt/jwt/v5"}},
	"internal/wire": {internal: []string{"epoch", "internal/clustertime", "internal/identity/numbers",
		"internal/attachment",
		"sequencer", "internal/spelling", "internal/roster", "security", "internal/buildinfo", "internal/failure"},
		modules: []string{"github.com/vmihailenco/msgpack/v5"}},
	"internal/wire/frame": {pure: true},
	"internal/wire/member": {internal: []string{"internal/clustertime", "sequencer", "internal/roster",
		"backup", "partition", "internal/failure", "internal/wire"}},
	"internal/openapi": {pure: true, internal: []string{"internal/identity/numbers", "internal/membership",
		"internal/roster", "internal/spelling", "internal/wire", "internal/wire/frame", "sequencer"},
		besides: []string{"net/http"}},
	"internal/frames": {internal: []string{"internal/failure", "internal/signal", "internal/wire",
		"internal/wire/frame"}},
	"client/store": {internal: []string{"internal/durable", "internal/signal", "internal/logqueue",
		"epoch", "internal/clustertime", "internal/attachment", "sequencer", "internal/record", "internal/failure",
		"internal/bounded", "internal/handles", "internal/tracing"}},
	"internal/bounded": {},
	"internal/record": {pure: true, internal: []string{"epoch", "internal/clustertime",
		"internal/attachment", "sequencer", "internal/failure"}, besides: []string{"net/url"}},
	"client/store/storetest": {internal: []string{"*"}},
	"internal/tcp":           {},
	"internal/calls": {internal: []string{"internal/failure", "internal/frames", "internal/handles", "internal/tcp",
		"internal/identity", "internal/wire", "internal/wire/frame", "security", "sequencer"}},
	"internal/calls/overhttp": {internal: []string{"internal/wire", "internal/wire/frame", "security"}},
	"client": {internal: []string{"internal/signal", "internal/tcp", "internal/calls", "internal/logqueue",
		"epoch", "internal/clustertime", "security", "internal/attachment", "sequencer", "internal/roster", "internal/wire",
		"internal/wire/frame", "internal/buildinfo", "internal/failure", "internal/frames", "internal/handles",
		"internal/measure", "internal/identity", "internal/identity/numbers", "internal/session", "internal/tracing"}},
	"grid/internal/boltfile": {modules: []string{"go.etcd.io/bbolt"}},
	"grid/internal/definitions": {internal: []string{"internal/durable", "grid/internal/boltfile",
		"internal/failure", "epoch", "internal/attachment", "internal/clustertime", "sequencer", "internal/roster", "backup",
		"partition", "internal/wire"}, modules: []string{"go.etcd.io/bbolt"}},
	"grid/internal/transport": {internal: []string{"grid/internal/acceptor", "internal/roster", "internal/tcp",
		"security"}, modules: []string{"github.com/hashicorp/memberlist", "github.com/hashicorp/raft",
		"github.com/hashicorp/go-hclog",
		"github.com/vmihailenco/msgpack/v5"}},
	"internal/durable":       {},
	"internal/signal":        {},
	"grid/internal/acceptor": {modules: []string{"golang.org/x/sys/unix", "golang.org/x/time/rate"}}, // unix: on Linux
	"grid/internal/refusal":  {internal: []string{"internal/failure", "sequencer"}},
	"grid/internal/audit": {internal: []string{"grid/internal/refusal", "internal/roster", "security",
		"sequencer", "internal/wire"}, modules: []string{"golang.org/x/time/rate"}},
	"grid/internal/librarylog": {modules: []string{"github.com/hashicorp/go-hclog"}},
	"grid/internal/tenure":     {},
	"grid/internal/state": {internal: []string{"internal/handles", "internal/clustertime",
		"internal/signal", "internal/roster"}},
	"grid/internal/raftlog": {internal: []string{"internal/bounded", "internal/durable", "grid/internal/boltfile",
		"grid/internal/librarylog", "grid/internal/refusal", "grid/internal/state", "grid/internal/tenure",
		"grid/internal/transport", "internal/clustertime", "internal/failure", "internal/leader", "internal/roster",
		"internal/roster/follow", "sequencer", "internal/wire", "internal/measure"},
		modules: []string{"github.com/hashicorp/raft", "github.com/hashicorp/go-hclog", "go.etcd.io/bbolt"}},
	"grid/internal/raftlogtest": {internal: []string{"grid/internal/raftlog"}},
	"grid/internal/discovery": {internal: []string{"grid/internal/librarylog", "internal/signal",
		"internal/spelling"}},
	"internal/dnstest": {modules: []string{"github.com/miekg/dns"}},
	"grid/internal/gossip": {internal: []string{"grid/internal/discovery", "grid/internal/librarylog",
		"internal/bounded", "internal/durable",
		"grid/internal/refusal", "internal/signal", "grid/internal/state", "grid/internal/transport", "internal/failure",
		"internal/roster", "sequencer", "internal/wire"}, modules: []string{"github.com/hashicorp/memberlist"}},
	"internal/membership": {internal: []string{"internal/failure", "internal/wire"}},
	"grid/internal/api": {internal: []string{"internal/buildinfo", "internal/openapi",
		"internal/calls", "internal/handles", "internal/membership",
		"internal/tracing",
		"grid/internal/acceptor", "client",
		"internal/clustertime", "grid/internal/audit", "grid/internal/librarylog", "grid/internal/refusal",
		"internal/signal", "grid/internal/state", "grid/internal/tenure", "internal/failure", "internal/frames",
		"internal/wire/frame", "internal/roster", "security", "internal/attachment", "sequencer", "internal/wire"},
		modules: []string{"golang.org/x/sys/unix", "golang.org/x/time/rate"}}, // unix: on Linux
	"grid/internal/host": {internal: []string{"backup", "internal/identity/numbers",
		"internal/handles", "internal/clustertime",
		"grid/internal/audit", "grid/internal/api", "grid/internal/definitions", "grid/internal/raftlog",
		"grid/internal/refusal", "internal/signal", "grid/internal/state", "grid/internal/tenure", "internal/failure",
		"internal/spelling", "internal/leader", "partition", "internal/roster", "security", "internal/attachment",
		"sequencer",
		"internal/wire", "internal/wire/member", "internal/measure"}, modules: []string{"golang.org/x/time/rate"}},
	"grid/internal/formation": {internal: []string{"internal/durable", "internal/identity",
		"internal/handles", "internal/clustertime", "grid/internal/audit", "grid/internal/api",
		"grid/internal/boltfile", "grid/internal/definitions", "grid/internal/gossip", "grid/internal/raftlog",
		"grid/internal/refusal", "internal/signal", "grid/internal/state", "grid/internal/tenure", "grid/internal/transport",
		"internal/failure", "internal/spelling", "internal/leader", "internal/recovery", "internal/roster", "sequencer",
		"internal/wire"}, modules: []string{"github.com/hashicorp/raft"}},
	"grid": {internal: []string{"internal/measure", "internal/membership", "internal/handles", "internal/calls",
		"internal/bounded", "internal/logqueue", "grid/internal/discovery", "internal/session", "internal/spelling",
		"internal/identity", "internal/identity/numbers",
		"grid/internal/formation", "grid/internal/host", "grid/internal/audit", "grid/internal/api", "grid/internal/gossip",
		"grid/internal/raftlog", "grid/internal/state", "grid/internal/tenure", "grid/internal/librarylog",
		"grid/internal/refusal", "internal/signal", "grid/internal/transport", "epoch", "internal/clustertime",
		"internal/attachment", "sequencer", "internal/roster", "internal/roster/follow", "internal/roster/plan", "backup",
		"partition", "internal/leader", "internal/leader/anchor", "internal/wire", "grid/internal/definitions", "client",
		"client/store", "internal/failure", "security", "internal/token"}, modules: gridModules},
	"grid/gridtest": {internal: []string{"internal/handles", "internal/calls", "grid", "client",
		"client/store", "security", "internal/authority"}, modules: []string{"github.com/hashicorp/memberlist",
		"github.com/hashicorp/raft"}},
	"metrics": {internal: []string{"client", "metrics/internal/metric"},
		modules: []string{"github.com/prometheus/client_golang"}},
	"metrics/internal/metric": {internal: []string{"client", "internal/logqueue"},
		modules: []string{"github.com/prometheus/client_golang"}},
	"metrics/membermetrics": {internal: []string{"grid", "internal/buildinfo", "internal/leader/anchor",
		"internal/roster", "metrics/internal/metric"}, modules: []string{"github.com/prometheus/client_golang"}},
	"cmd/snowgrid": {internal: []string{"*"},
		modules: []string{"github.com/KimMachineGun/automemlimit/memlimit", "github.com/alecthomas/kong",
			"github.com/prometheus/client_golang", "github.com/goccy/go-yaml", "github.com/coreos/go-systemd/v22/daemon",
			"github.com/hashicorp/go-sockaddr", "golang.org/x/sys/unix"}},
	"examples/*": {internal: []string{"*"}},
	"proof/ledger": {pure: true, internal: []string{"internal/clustertime", "internal/attachment",
		"sequencer"}},
	"proof/sim": {pure: true, internal: []string{"epoch", "internal/clustertime",
		"internal/attachment", "sequencer", "internal/roster", "backup", "partition", "internal/leader",
		"internal/leader/anchor", "internal/recovery", "proof/ledger", "internal/session", "internal/record",
		"internal/grants", "internal/wire"}},
	"proof/*": {internal: []string{"*"}},
	"internal/evil": {internal: []string{"internal/roster", "security", "internal/authority",
		"internal/wire"}, modules: []string{"github.com/hashicorp/raft", "github.com/hashicorp/go-hclog"}},
	"proof/chaos/*":   {internal: []string{"*"}, modules: []string{"golang.org/x/sys"}},
	"proof/upgrade/*": {internal: []string{"client", "sequencer", "proof/overhttp"}},

	"cmd/snowgrid/internal/logring":    {},
	"cmd/snowgrid/internal/configfile": {modules: []string{"github.com/goccy/go-yaml"}},
}

var gridModules = []string{
	"github.com/hashicorp/memberlist", "github.com/hashicorp/raft", "github.com/hashicorp/go-hclog",
	"go.etcd.io/bbolt",
}

// generatorUses are the uses of the generator: a lock to read the clock, and a timer in
// saturated mode.
var generatorUses = []string{"sync", "saturation.go: time.AfterFunc"}

// impure are the standard packages that a pure package cannot need.
var impure = regexp.MustCompile(`^(net|os|log)(/|$)|^sync$`)

// clocks are the functions of package time by which code waits, or reads a clock that was
// not passed to it.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// Words that the project has another word for. In prose and comments only those
// count that cannot mean anything else; a name is ours, so more of them do.
var (
	bannedInProse = regexp.MustCompile(
		`\b(slaves?|masters?|white-?list\w*|black-?list\w*|machine[ -]ids?|primary (replica|owner)s?|cluster nodes?)\b`)
	bannedInNames = regexp.MustCompile(`\b(slaves?|masters?|white ?lists?|black ?lists?|machine id)\b`)
)

// wordExceptions are files that have to name a banned word, with the words.
var wordExceptions = map[string][]string{
	"DESIGN.md":                     {"master", "slave"}, // the table of words says which ones are not used
	"compat/sonyflake/sonyflake.go": {"machine id"},      // names of another module's API
}

// fileNames are names without information about the file.
var fileNames = regexp.MustCompile(`^(utils?|common|helpers?|types|interfaces?|managers?|misc)(_test)?\.go$`)

const (
	fileLinesMax = 400
	funcLinesMax = 70
)

// listed is the part of `go list -json` that is looked at.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Error      *struct{ Err string }
}

// path returns the package's directory inside the module, "." for the root.
func (p listed) path() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// source is one Go file that is not a test.
type source struct {
	path  string // inside the module, with slashes
	fset  *token.FileSet
	file  *ast.File
	lines int
}

func parseSource(name, text string) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{path: name, fset: fset, file: file, lines: strings.Count(text, "\n")}, err
}

func TestTidy(t *testing.T) {
	packages := listPackages(t)
	for _, p := range packages {
		t.Run(p.path(), func(t *testing.T) {
			if p.Error != nil {
				t.Fatal(p.Error.Err)
			}
			var sources []source
			for _, name := range p.GoFiles {
				s, err := parseSource(path.Join(p.path(), name), readFile(t, filepath.Join(p.Dir, name)))
				if err != nil {
					t.Fatal(err)
				}
				sources = append(sources, s)
			}
			report(t, checkImports(p))
			report(t, checkPackageComment(p.path(), sources))
			if p.path() == "grid" {
				report(t, checkWiring("Member", sources))
			}
			if !strings.HasPrefix(p.path(), "proof/") { // a module of its own
				report(t, checkMethods(p.path(), sources))
			}
			for _, s := range sources {
				report(t, slices.Concat(checkFileName(s.path), checkSize(s), checkSourceWords(s)))
				if ruleFor(p.path()).pure {
					report(t, checkPure(s, ruleFor(p.path()).besides))
				}
			}
		})
	}
	t.Run("go.mod", func(t *testing.T) { report(t, checkGoMod(readFile(t, "go.mod"))) })
	for _, name := range markdownFiles(t) {
		t.Run(name, func(t *testing.T) {
			text := readFile(t, name)
			report(t, slices.Concat(checkWords(name, text), checkLinks(name, text, exists)))
		})
	}
}

// ruleFor finds a package's row, if need be the one of its parent's "/*".
func ruleFor(pkg string) imports {
	if rule, ok := importMap[pkg]; ok {
		return rule
	}
	return importMap[path.Dir(pkg)+"/*"]
}

// checkImports holds a package's imports against its row of the import map.
func checkImports(p listed) (problems []string) {
	_, named := importMap[p.path()]
	_, grouped := importMap[path.Dir(p.path())+"/*"]
	if !named && !grouped && len(p.GoFiles) > 0 {
		return []string{p.path() + ": not in the import map; add a row for it in tidy_test.go"}
	}
	rule := ruleFor(p.path())
	for _, imp := range p.Imports {
		internal, isInternal := strings.CutPrefix(imp, module+"/")
		host, _, _ := strings.Cut(imp, "/")
		var allowed bool
		switch {
		case isInternal:
			allowed = slices.Contains(rule.internal, internal) || slices.Contains(rule.internal, "*")
		case strings.Contains(host, "."):
			allowed = slices.ContainsFunc(rule.modules, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") })
		default:
			allowed = !rule.pure || !impure.MatchString(imp) || slices.Contains(rule.besides, imp)
		}
		if !allowed {
			problems = append(problems, fmt.Sprintf("%s may not import %s", p.path(), imp))
		}
	}
	return problems
}

// checkPackageComment wants one package comment in the package.
func checkPackageComment(pkg string, sources []source) []string {
	documented := func(s source) bool { return s.file.Doc.Text() != "" }
	if len(sources) == 0 || slices.ContainsFunc(sources, documented) {
		return nil
	}
	return []string{pkg + ": no package comment; write it in the file named after the package"}
}

// checkPure finds goroutines and clocks in a package that only decides, but for those
// that it may use.
func checkPure(s source, besides []string) (problems []string) {
	timeName := "time"
	for _, imp := range s.file.Imports {
		if imp.Path.Value != `"time"` || imp.Name == nil {
			continue
		}
		if timeName = imp.Name.Name; timeName == "." {
			problems = append(problems, fmt.Sprintf("%s: imports time as a dot, which hides what it uses", s.path))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			problems = append(problems, fmt.Sprintf("%s: a pure package starts no goroutine", s.fset.Position(n.Pos())))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == timeName && slices.Contains(clocks, n.Sel.Name) &&
				!slices.Contains(besides, path.Base(s.path)+": time."+n.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s: time.%s in a pure package; take the time as an argument",
					s.fset.Position(n.Pos()), n.Sel.Name))
			}
		}
		return true
	})
	return problems
}

// checkSize bounds the lines of a file and of each function in it.
func checkSize(s source) (problems []string) {
	if s.lines > fileLinesMax {
		problems = append(problems, fmt.Sprintf("%s: %d lines, more than %d; is it still one idea?", s.path, s.lines,
			fileLinesMax))
	}
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := s.fset.Position(fn.End()).Line - s.fset.Position(fn.Pos()).Line + 1
		if lines > funcLinesMax {
			problems = append(problems, fmt.Sprintf("%s: %s has %d lines, more than %d", s.path, fn.Name.Name, lines,
				funcLinesMax))
		}
	}
	return problems
}

// methodsMax is the number of methods that a type may have.
const methodsMax = 60

// checkMethods bounds the methods of each type of a package.
func checkMethods(pkg string, sources []source) (problems []string) {
	methods := map[string]int{}
	for _, s := range sources {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[pkg+"."+receiverName(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > methodsMax {
			problems = append(problems, fmt.Sprintf("%s has %d methods; at most %d: divide it", name, n, methodsMax))
		}
	}
	slices.Sort(problems)
	return problems
}

// receiverName returns the name of a receiver's type.
func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// wiringMethodsMax is how many methods a type may have that only connects others.
const wiringMethodsMax = 35

// checkWiring wants of a type that it only connects others: it has few methods, no lock,
// and no struct holds it to reach everything through it.
func checkWiring(name string, sources []source) (problems []string) {
	methods := 0
	for _, s := range sources {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && isPointerTo(name, f.Recv.List[0].Type) {
				methods++
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range fields.Fields.List {
				lock, _ := field.Type.(*ast.SelectorExpr)
				switch {
				case isPointerTo(name, field.Type):
					problems = append(problems, fmt.Sprintf("%s: %s holds a *%s; hand it what it needs", s.path, spec.Name.Name, name))
				case spec.Name.Name == name && lock != nil && strings.HasSuffix(lock.Sel.Name, "Mutex"):
					problems = append(problems, fmt.Sprintf("%s: %s has a lock; the state that it guards is a type of its own", s.path,
						name))
				}
			}
			return true
		})
	}
	if methods > wiringMethodsMax {
		problems = append(problems, fmt.Sprintf("%s has %d methods; at most %d", name, methods, wiringMethodsMax))
	}
	return problems
}

// isPointerTo reports whether a type is a pointer to a named type of its own package.
func isPointerTo(name string, t ast.Expr) bool {
	pointer, ok := t.(*ast.StarExpr)
	if !ok {
		return false
	}
	named, ok := pointer.X.(*ast.Ident)
	return ok && named.Name == name
}

// checkFileName refuses names that would fit any file.
func checkFileName(name string) []string {
	if fileNames.MatchString(path.Base(name)) {
		return []string{name + ": name the file after the noun or verb in it"}
	}
	return nil
}

var url = regexp.MustCompile(`https?://[^\s)>]+`)

// checkWords looks for banned words in prose; addresses do not count.
func checkWords(name, text string) (problems []string) {
	for i, line := range strings.Split(strings.ToLower(url.ReplaceAllString(text, "")), "\n") {
		for _, word := range bannedInProse.FindAllString(line, -1) {
			if !slices.Contains(wordExceptions[name], word) {
				problems = append(problems, fmt.Sprintf("%s:%d: %q is not one of the project's words", name, i+1, word))
			}
		}
	}
	return problems
}

// checkSourceWords looks at a file's comments and at the names it declares.
func checkSourceWords(s source) (problems []string) {
	for _, group := range s.file.Comments {
		problems = append(problems, checkWords(s.path, group.Text())...)
	}
	for _, ident := range declaredNames(s.file) {
		word := bannedInNames.FindString(splitName(ident.Name))
		if word != "" && !slices.Contains(wordExceptions[s.path], word) {
			problems = append(problems, fmt.Sprintf("%s: %s: %q is not one of the project's words", s.fset.Position(ident.Pos()),
				ident.Name, word))
		}
	}
	return problems
}

// declaredNames returns the names that a file itself gives: those of an imported
// package are not ours to choose.
func declaredNames(file *ast.File) (names []*ast.Ident) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if ident, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names = append(names, ident)
				}
			}
		}
		return true
	})
	return names
}

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// splitName turns grantUntilMax into "grant until max".
func splitName(name string) string {
	for range 2 { // humps of one letter overlap
		name = hump.ReplaceAllString(name, "$1$3 $2$4")
	}
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

var replaceDirective = regexp.MustCompile(`(?m)^\s*replace\b`)

// checkGoMod refuses replace directives: users of the module would not get them.
func checkGoMod(text string) []string {
	if replaceDirective.MatchString(text) {
		return []string{"go.mod: a replace directive does not reach those who import the module"}
	}
	return nil
}

var (
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)
)

// checkLinks wants the files that a Markdown file links to.
func checkLinks(name, text string, exists func(string) bool) (problems []string) {
	for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		target, _, _ := strings.Cut(match[1], "#")
		if target == "" || strings.Contains(target, ":") {
			continue
		}
		if !exists(path.Join(path.Dir(name), target)) {
			problems = append(problems, fmt.Sprintf("%s: the link to %s leads nowhere", name, target))
		}
	}
	return problems
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, problem := range problems {
		t.Error(problem)
	}
}

// listPackages returns the packages of this module and of the module proof.
func listPackages(t *testing.T) []listed {
	t.Helper()
	return append(listModule(t, "."), listModule(t, "proof")...)
}

func listModule(t *testing.T, dir string) (packages []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,Error", "./...")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func markdownFiles(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(name) == ".md" {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.FromSlash(name))
	return err == nil
}

// TestTidyCanFail gives each check an input that it must refuse, and one that
// it must not.
func TestTidyCanFail(t *testing.T) {
	parse := func(text string) source {
		s, err := parseSource("x/x.go", text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	pkg := func(name string, imports ...string) listed {
		return listed{ImportPath: module + "/" + name, GoFiles: []string{"x.go"}, Imports: imports}
	}
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	long := "package x\n\nfunc f() {\n" + strings.Repeat("\tg()\n", 71) + "}\n"

	tests := []struct {
		name      string
		bad, good []string
	}{
		{"internal import", checkImports(pkg("epoch", module+"/grid")),
			checkImports(pkg("backup", module+"/internal/roster"))},
		{"third party", checkImports(pkg("client", "github.com/alecthomas/kong")), checkImports(pkg("internal/wire",
			"github.com/vmihailenco/msgpack/v5/msgpcode"))},
		{"module of a longer name", checkImports(pkg("internal/roster/plan", "github.com/buraksezer/consistent2")),
			checkImports(pkg("internal/roster/plan", "github.com/buraksezer/consistent"))},
		{"impure import", checkImports(pkg("backup", "net/http")), checkImports(pkg("sequencer", "sync/atomic", "time"))},
		{"impure sync", checkImports(pkg("partition", "sync")), checkImports(pkg("client", "sync", "net/http"))},
		{"package without a row", checkImports(pkg("tools")), checkImports(pkg("examples/embed", module+"/grid"))},
		{"package comment", checkPackageComment("x", []source{parse("package x")}), checkPackageComment("x", []source{parse(
			"package x"), parse("// Package x is.\npackage x")})},
		{"goroutine", checkPure(parse("package x\nfunc f() { go f() }"), nil),
			checkPure(parse("package x\nfunc f() { f() }"), nil)},
		{"clock in one file", checkPure(parse("package x\nvar at = time.AfterFunc"), []string{"y.go: time.AfterFunc"}),
			checkPure(parse("package x\nvar at = time.AfterFunc"), []string{"x.go: time.AfterFunc"})},
		{"hidden clock", checkPure(parse("package x\nimport . \"time\"\nvar now = Now"), nil), checkPure(parse(
			"package x\nimport \"time\""), nil)},
		{"renamed clock", checkPure(parse("package x\nimport t \"time\"\nvar now = t.Now"), nil), checkPure(parse(
			"package x\nimport t \"time\"\nvar at = t.UnixMilli(1)"), nil)},
		{"clock", checkPure(parse("package x\nvar now = time.Now"), nil), checkPure(parse(
			"package x\nvar at = time.UnixMilli(1)"), nil)},
		{"long file", checkSize(parse("package x\n" + strings.Repeat("\n", 400))),
			checkSize(parse("package x\n" + strings.Repeat("\n", 399)))},
		{"long function", checkSize(parse(long)), checkSize(parse("package x\nfunc f() {}\n"))},
		{"held wiring", checkWiring("m", []source{parse("package x\ntype m struct{}\ntype room struct{ m *m }")}),
			checkWiring("m", []source{parse("package x\ntype m struct{ r *room }\ntype room struct{}")})},
		{"locked wiring", checkWiring("m", []source{parse("package x\ntype m struct{ mu sync.Mutex }")}),
			checkWiring("m", []source{parse("package x\ntype room struct{ mu sync.Mutex }")})},
		{"large wiring", checkWiring("m", []source{parse("package x\n" + strings.Repeat("func (*m) f() {}\n", 36))}),
			checkWiring("m", []source{parse("package x\n" + strings.Repeat("func (*m) f() {}\n", 35))})},
		{"many methods", checkMethods("x", []source{parse("package x\n" + strings.Repeat("func (*m) f() {}\n", 61))}),
			checkMethods("x", []source{parse("package x\n" + strings.Repeat("func (m[T]) f() {}\n", 60))})},
		{"file name", checkFileName("grid/helpers.go"), checkFileName("grid/member.go")},
		{"comment", checkSourceWords(parse("package x\n\n// f asks the Master.\nfunc f() {}")), checkSourceWords(parse(
			"package x\n\n// f asks the owner.\nfunc f() {}"))},
		{"name", checkSourceWords(parse("package x\nfunc f() { theMasterMax := 1; _ = theMasterMax }")),
			checkSourceWords(parse("package x\nfunc release(mastery int) {}"))},
		{"field", checkSourceWords(parse("package x\ntype t struct { slaveID int }")), checkSourceWords(parse(
			"package x\nvar timeout = cfg.LeaderLeaseTimeout"))},
		{"prose", checkWords("README.md", "one\nof its Masters\n"), checkWords("README.md",
			"see https://example.org/blob/master/x\n")},
		{"exception", checkWords("README.md", "| owner | master |"), checkWords("DESIGN.md", "| owner | master |")},
		{"replace", checkGoMod("module x\n\nreplace y => ../y\n"), checkGoMod("module x // replaces y\n")},
		{"link", checkLinks("a/b.md", "see [c](c.md#d)", none), checkLinks("a/b.md", "see [c](c.md#d)", all)},
		{"link in code", checkLinks("b.md", "[c](c.md) `[d](d.md)`", none), checkLinks("b.md",
			"`[d](d.md)` [e](https://e) [f](#f)\n```\n[g](g.md)\n```\n", none)},
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
