package snowgrid_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update-api", false, "write the exported API of each public package to api/")

// publicPackages are the packages that the promise of compatibility covers, with the largest number
// of exports; 0 for no limit.
var publicPackages = map[string]int{
	"epoch": 0, "sequencer": 93, "idtext": 0, "client": 25, "client/store": 0, "client/store/storetest": 0,
	"compat/snowflake": 0, "compat/sonyflake": 0,
	"client/etcd":       0,
	"client/etcd/mixed": 0,
	"client/s3":         0, "client/sql": 0, "grid": 0, "grid/gridtest": 0, "security": 0, "metrics": 0,
	"metrics/membermetrics": 0, "otel": 0,
}

// apiDebt are the rules that a package still breaks: an alias, a variable, a type of an internal
// package, or an identifier with a comment that sends its reader away. A line leaves this list with
// the identifier.
var apiDebt = map[string][]string{}

// TestAPI: the exported API of each public package is the one in api/, so a change of it shows in a
// review. `make api` writes the files.
func TestAPI(t *testing.T) {
	for dir, most := range publicPackages {
		api := parseAPI(t, dir)
		file := filepath.Join("api", strings.ReplaceAll(dir, "/", "-")+".txt")
		if *updateAPI {
			if err := os.WriteFile(file, []byte(api.text()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; run make api", err)
			continue
		}
		if got := api.text(); got != string(want) {
			t.Errorf("%s differs from the exported API; if the change is meant, run make api:\n%s",
				file, lineDiff(string(want), got))
		}
		if n := api.exports(); most > 0 && n > most {
			t.Errorf("package %s has %d exports; at most %d", dir, n, most)
		}
		for name, problem := range api.problems {
			if !slices.Contains(apiDebt[dir], name) {
				t.Errorf("package %s: %s %s", dir, name, problem)
			}
		}
		for _, name := range apiDebt[dir] {
			if api.problems[name] == "" {
				t.Errorf("package %s: %s breaks no rule; delete it from apiDebt", dir, name)
			}
		}
	}
	report(t, apiStrays())
}

// apiStrays returns the files of api/ that describe no public package.
func apiStrays() (problems []string) {
	files, _ := filepath.Glob("api/*.txt")
	for _, file := range files {
		dir := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".txt"), "-", "/")
		if _, ok := publicPackages[dir]; !ok {
			problems = append(problems, fmt.Sprintf("%s: %s is not a public package; delete the file", file, dir))
		}
	}
	return problems
}

// api has one line per exported identifier of a package, by kind.
type api struct {
	dir      string
	lines    map[string][]string
	problems map[string]string // by identifier
	internal func(ast.Node) string
}

var apiKinds = []string{"type", "func", "method", "const", "var", "field"}

// exports is the number of types, functions, methods, constants and variables. A field counts with
// its type.
func (a *api) exports() (n int) {
	for _, kind := range apiKinds[:5] {
		n += len(a.lines[kind])
	}
	return n
}

// text returns the counts and all lines, sorted within each kind.
func (a *api) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Package %s: %d exports and %d fields. Written by make api.\n",
		a.dir, a.exports(), len(a.lines["field"]))
	for _, kind := range apiKinds {
		slices.Sort(a.lines[kind])
		for _, line := range a.lines[kind] {
			fmt.Fprintf(&b, "%s %s\n", kind, line)
		}
	}
	return b.String()
}

func (a *api) add(kind, format string, args ...any) {
	a.lines[kind] = append(a.lines[kind], strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// parseAPI reads the exported API of the package in dir, on every operating system.
func parseAPI(t *testing.T, dir string) *api {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, module+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	return newAPI(dir, pkg, internalNames(fset, files))
}

// internalNames returns a function that finds the first identifier of an internal package in a type,
// "" for none. It resolves a package name by the imports of the file.
func internalNames(fset *token.FileSet, files []*ast.File) func(ast.Node) string {
	imported := map[string]map[string]bool{} // names of internal packages, by file
	for _, file := range files {
		names := map[string]bool{}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if !strings.Contains("/"+path+"/", "/internal/") {
				continue
			}
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = true
		}
		imported[fset.Position(file.Package).Filename] = names
	}
	return func(node ast.Node) (found string) {
		ast.Inspect(node, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && found == "" {
				if pkg, is := s.X.(*ast.Ident); is && imported[fset.Position(s.Pos()).Filename][pkg.Name] {
					found = pkg.Name + "." + s.Sel.Name
				}
			}
			return found == ""
		})
		return found
	}
}

func newAPI(dir string, pkg *doc.Package, internal func(ast.Node) string) *api {
	a := &api{dir: dir, lines: map[string][]string{}, problems: map[string]string{}, internal: internal}
	if opaqueDoc.MatchString(pkg.Doc) {
		a.problems["package"] = "has a comment that excludes its users"
	}
	a.addValues("const", pkg.Consts)
	a.addValues("var", pkg.Vars)
	a.addFuncs(pkg.Funcs)
	for _, t := range pkg.Types {
		a.addType(t)
	}
	return a
}

func (a *api) addType(t *doc.Type) {
	a.addValues("const", t.Consts)
	a.addValues("var", t.Vars)
	a.addFuncs(t.Funcs)
	a.checkDoc(t.Name, t.Doc)
	for _, m := range t.Methods {
		a.add("method", "(%s) %s%s", m.Recv, m.Name, signature(m.Decl.Type))
		a.checkType(t.Name+"."+m.Name, m.Decl.Type)
		a.checkDoc(t.Name+"."+m.Name, m.Doc)
	}
	for _, spec := range t.Decl.Specs {
		spec := spec.(*ast.TypeSpec)
		if spec.TypeParams != nil {
			a.checkType(t.Name, spec.TypeParams)
		}
		switch s := spec.Type.(type) {
		case *ast.StructType:
			a.add("type", "%s struct", t.Name)
			a.addFields(t.Name, s.Fields)
		case *ast.InterfaceType:
			a.add("type", "%s interface", t.Name)
			for _, m := range s.Methods.List {
				if len(m.Names) == 0 {
					a.add("field", "%s embeds %s", t.Name, render(m.Type))
					a.checkType(t.Name, m.Type)
				}
				for _, name := range m.Names {
					a.add("method", "(%s) %s%s", t.Name, name.Name, signature(m.Type.(*ast.FuncType)))
					a.checkType(t.Name+"."+name.Name, m.Type)
				}
			}
		default:
			a.checkType(t.Name, spec.Type)
			if spec.Assign != token.NoPos {
				a.problems[t.Name] = "is an alias of " + render(spec.Type) + "; declare a type"
			}
			a.add("type", "%s %s", t.Name, render(spec.Type))
		}
	}
}

func (a *api) addFields(owner string, fields *ast.FieldList) {
	for _, f := range fields.List {
		if embedded := render(f.Type); len(f.Names) == 0 &&
			ast.IsExported(embedded[strings.LastIndexAny(embedded, ".*")+1:]) {
			a.add("field", "%s embeds %s", owner, embedded)
			a.checkType(owner, f.Type)
		}
		for _, name := range f.Names {
			if name.IsExported() {
				a.add("field", "%s.%s %s", owner, name.Name, render(f.Type))
				a.checkDoc(owner+"."+name.Name, f.Doc.Text())
				a.checkType(owner+"."+name.Name, f.Type)
			}
		}
	}
}

func (a *api) addFuncs(funcs []*doc.Func) {
	for _, f := range funcs {
		params := ""
		if list := f.Decl.Type.TypeParams; list != nil {
			params = "[" + fieldList(list) + "]"
		}
		a.add("func", "%s%s%s", f.Name, params, signature(f.Decl.Type))
		a.checkDoc(f.Name, f.Doc)
		a.checkType(f.Name, f.Decl.Type) // with its type parameters
	}
}

// addValues adds constants or variables. Of variables, an error that callers compare with is the
// only kind that a package may export: any program could change another.
func (a *api) addValues(kind string, values []*doc.Value) {
	for _, v := range values {
		for _, spec := range v.Decl.Specs {
			if spec := spec.(*ast.ValueSpec); spec.Type != nil && ast.IsExported(spec.Names[0].Name) {
				a.checkType(spec.Names[0].Name, spec.Type)
			}
		}
		for _, name := range v.Names {
			if !ast.IsExported(name) {
				continue
			}
			a.add(kind, "%s", name)
			if kind == "var" && !strings.HasPrefix(name, "Err") {
				a.problems[name] = "is a variable that any program could change; use a function"
			}
		}
	}
}

// opaqueDoc matches a comment that sends its reader away.
var opaqueDoc = regexp.MustCompile(`(?i)users( of .*)? do(es)? not\s+need|not\s+for\s+users`)

func (a *api) checkDoc(name, text string) {
	if opaqueDoc.MatchString(text) {
		a.problems[name] = "is not for users; move it to an internal package"
	}
}

// checkType refuses a type of an internal package: another module cannot name it.
func (a *api) checkType(name string, of ast.Node) {
	if found := a.internal(of); found != "" {
		a.problems[name] = "shows " + found + ", which is internal; use a type that other modules can name"
	}
}

func signature(f *ast.FuncType) string {
	text := "(" + fieldList(f.Params) + ")"
	switch results := f.Results; {
	case results == nil:
	case len(results.List) == 1 && len(results.List[0].Names) == 0:
		text += " " + fieldList(results)
	default:
		text += " (" + fieldList(results) + ")"
	}
	return text
}

// fieldList returns names and types, separated by commas.
func fieldList(list *ast.FieldList) string {
	var parts []string
	for _, f := range list.List {
		var names []string
		for _, name := range f.Names {
			names = append(names, name.Name)
		}
		parts = append(parts, strings.TrimSpace(strings.Join(names, ", ")+" "+render(f.Type)))
	}
	return strings.Join(parts, ", ")
}

// render returns an expression as source text.
func render(e ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return b.String()
}

// lineDiff returns the lines that only one of two sorted texts has.
func lineDiff(want, got string) string {
	var b strings.Builder
	a, c := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range a {
		if !slices.Contains(c, line) {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	for _, line := range c {
		if !slices.Contains(a, line) {
			fmt.Fprintf(&b, "+ %s\n", line)
		}
	}
	return b.String()
}

// TestAPICanFail: each rule of TestAPI finds what breaks it.
func TestAPICanFail(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", `// Package p is P.
package p
import "x/internal/y"
var ErrX = errors.New("x")
var ErrY y.E
var Table []string
type P[T y.A] struct{}
type A = y.A
type I interface { M(n int) error; N(y.A) }
type S struct {
	F int // f
	Y map[string][]*y.A
	hidden y.A
	// G is G. Users do not need it.
	G, g int
}
func (s *S) Get() (int, error) { return 0, nil }
func (s *S) Put(at ...y.A) {}
func New[T any](t T) *S { return nil }
func Of[T y.A](t T) *S { return nil }
`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := doc.NewFromFiles(fset, []*ast.File{file}, "p")
	if err != nil {
		t.Fatal(err)
	}
	a := newAPI("p", pkg, internalNames(fset, []*ast.File{file}))
	want := "# Package p: 13 exports and 3 fields. Written by make api.\n" +
		"type A y.A\ntype I interface\ntype P struct\ntype S struct\nfunc New[T any](t T) *S\nfunc Of[T y.A](t T) *S\n" +
		"method (*S) Get() (int, error)\nmethod (*S) Put(at ...y.A)\nmethod (I) M(n int) error\nmethod (I) N(y.A)\n" +
		"var ErrX\nvar ErrY\nvar Table\nfield S.F int\nfield S.G int\nfield S.Y map[string][]*y.A\n"
	if got := a.text(); got != want {
		t.Errorf("the API is\n%s\nwant\n%s", got, want)
	}
	faulty := "A ErrY I.N Of P S.G S.Put S.Y Table"
	if names := strings.Join(slices.Sorted(maps.Keys(a.problems)), " "); names != faulty {
		t.Errorf("problems of %s, want %s", names, faulty)
	}
}
