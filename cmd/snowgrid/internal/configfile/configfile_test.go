//go:build unix

package configfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
	"github.com/snowgrid/snowgrid/internal/long"
)

func TestParse(t *testing.T) {
	text := `# a comment
name: shop
expect: 3       # a number
window: 15s
join: [10.0.0.1:7946, "10.0.0.2:7946"]
seeds:
  - a
  - 'b c'
join-none: []
floor: 2026-01-01
debug: true
long: |
  one
  two
`
	f, err := configfile.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []configfile.Entry{
		{Key: "name", Line: 2, KeyColumn: 1, Column: 7, Values: []string{"shop"}},
		{Key: "expect", Line: 3, KeyColumn: 1, Column: 9, Values: []string{"3"}},
		{Key: "window", Line: 4, KeyColumn: 1, Column: 9, Values: []string{"15s"}},
		{Key: "join", Line: 5, KeyColumn: 1, Column: 7, Values: []string{"10.0.0.1:7946", "10.0.0.2:7946"}, IsList: true},
		{Key: "seeds", Line: 6, KeyColumn: 1, Column: 1, Values: []string{"a", "b c"}, IsList: true},
		{Key: "join-none", Line: 9, KeyColumn: 1, Column: 12, IsList: true},
		{Key: "floor", Line: 10, KeyColumn: 1, Column: 8, Values: []string{"2026-01-01"}},
		{Key: "debug", Line: 11, KeyColumn: 1, Column: 8, Values: []string{"true"}},
		{Key: "long", Line: 12, KeyColumn: 1, Column: 7, Values: []string{"one\ntwo\n"}},
	}
	if !reflect.DeepEqual(f.Entries, want) {
		t.Errorf("entries\n%+v, want\n%+v", f.Entries, want)
	}
}

// TestParseVariants: the same two keys in other spellings of YAML.
func TestParseVariants(t *testing.T) {
	want := []configfile.Entry{{Key: "a", Values: []string{"1"}}, {Key: "b", Values: []string{"x"}}}
	for _, text := range []string{
		"a: 1\nb: x", "a: 1\r\nb: x\r\n", "---\na: 1\nb: x\n", "%YAML 1.2\n---\na: 1\nb: x\n", "{a: 1, b: x}",
		`{"a": 1, "b": "x"}`, "\ufeffa: 1\nb: x",
	} {
		f, err := configfile.Parse("f.yaml", []byte(text))
		if err != nil {
			if strings.HasPrefix(text, "%") { // a directive is a document of its own here
				continue
			}
			t.Errorf("%q: %v", text, err)
			continue
		}
		for i := range f.Entries {
			f.Entries[i].Line, f.Entries[i].KeyColumn, f.Entries[i].Column = 0, 0, 0
		}
		if !reflect.DeepEqual(f.Entries, want) {
			t.Errorf("%q: %+v", text, f.Entries)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                `f.yaml: the file has no keys; write`,
		"# only a comment\n":              `f.yaml: the file has no keys; write`,
		"---\n":                           `f.yaml: the file has no keys; write`,
		"{}":                              `f.yaml: the file has no keys; write`,
		"hello":                           `f.yaml:1: "hello": this is not a key and a value; write`,
		"\n\n- a\n- b\n":                  `f.yaml:3: "-": this is not a key and a value; write`,
		"a = 1\nb: 2\n":                   `f.yaml:1: "a = 1 b": this is not YAML`,
		"a=1\nb=2\na=3\n":                 `f.yaml:3: a: the key is on line 1 already; remove one`,
		"<html>\n</html>":                 `f.yaml:1: "<html> </html>": this is not a key and a value`,
		"a: 1\nb 2\nc: 3\n":               `f.yaml:2: "b 2": this is not YAML (non-map value is specified); write "key: value"`,
		"a: 1\nb: [1\n":                   `f.yaml:2: "[": this is not YAML (sequence end token ']' not found)`,
		"a: 1\nb: c: d\n":                 `f.yaml:2: "c": this is not YAML`,
		"a: \"x\n":                        `f.yaml:1: "\"x": this is not YAML`,
		"a: 1\n\tb: 2\n":                  `f.yaml:`,
		"a: 1\nb: 2\na: 3\n":              `f.yaml:3: a: the key is on line 1 already; remove one`,
		"a:\n":                            `f.yaml:1: a: the key has no value; write one`,
		"a: ~\n":                          `f.yaml:1: a: the key has no value; write one`,
		"a:\n  b: 1\n":                    `f.yaml:2: a: keys are not grouped in sections`,
		"a: {b: 1}\n":                     `f.yaml:1: a: keys are not grouped in sections`,
		"a:\n  - b: 1\n":                  `f.yaml:2: a: keys are not grouped in sections`,
		"a: [[1]]\n":                      `f.yaml:1: a: a list in a list`,
		"a: [1, ~]\n":                     `f.yaml:1: a: the key has no value`,
		"a: &x 1\n":                       `f.yaml:1: a: "&": anchors, aliases and tags`,
		"a: 1\nb: &x 1\nc: *x\n":          `f.yaml:2: b: "&": anchors, aliases and tags`,
		"a: !!int 3\n":                    `f.yaml:1: a: "!!int": anchors, aliases and tags`,
		"<<: {a: 1}\n":                    `f.yaml:1: <<: this is not a key`,
		"? a\n: b\n":                      `f.yaml:1: ?: this is not a key`,
		"1: 2\n":                          `f.yaml:1: 1: this is not a key`,
		"a: 1\n---\nb: 2\n":               `f.yaml:3: a second document begins here`,
		"a: 1\nb: \x00\n":                 `f.yaml:2: this is not UTF-8 text`,
		"a: 1\nb: \xff\n":                 `f.yaml:2: this is not UTF-8 text`,
		strings.Repeat("[", 1001):         `f.yaml: the file has more than 1000 opening brackets`,
		"a: b\n" + strings.Repeat("{", 9): `f.yaml:2:`,
	} {
		_, err := configfile.Parse("f.yaml", []byte(text))
		var fault *configfile.Error
		if !errors.As(err, &fault) || !strings.HasPrefix(withoutColumns(err), want) || strings.Contains(fault.Error(), "\n") {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// column matches the column in the place of a fault.
var column = regexp.MustCompile(`(?m)^(f\.yaml:[0-9]+):[0-9]+`)

// withoutColumns returns the text of an error about f.yaml without the columns.
func withoutColumns(err error) string {
	if err == nil {
		return ""
	}
	return column.ReplaceAllString(err.Error(), "$1")
}

// TestParseReportsEachFault, with its column, and the entries without one.
func TestParseReportsEachFault(t *testing.T) {
	f, err := configfile.Parse("f.yaml", []byte("a: 1\nb:\nc: [1, [2]]\nd: &x 1\n  \na: 3\n"))
	want := strings.Join([]string{
		`f.yaml:2:3: b: the key has no value; write one after the colon, or remove the line`,
		`f.yaml:3:8: c: a list in a list has no meaning; write one list of values`,
		`f.yaml:4:4: d: "&": anchors, aliases and tags of YAML are not used here; write the value, in quotes if it begins with & * or !`,
		`f.yaml:6:1: a: the key is on line 1 already; remove one of the two`,
	}, "\n")
	if err == nil || err.Error() != want || len(f.Entries) != 1 || f.Entries[0].Key != "a" {
		t.Errorf("%v, want\n%s\nentries %+v", err, want, f)
	}
	_, err = configfile.Parse("f.yaml", []byte(strings.Repeat("a: 1\n", 50)))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 21 ||
		!strings.HasSuffix(lines[20], "29 more mistakes; correct these first") {
		t.Errorf("%d lines of 49 faults: %v", len(lines), err)
	}
}

func TestParseProperties(t *testing.T) {
	f, err := configfile.Parse("f.properties",
		[]byte("# a comment\n! another\n\naddress.1 = 10.0.0.1\r\n protocol.port.1=7946\nempty=\nurl=a=b: c\n"))
	want := []configfile.Entry{
		{Key: "address.1", Line: 4, KeyColumn: 1, Column: 13, Values: []string{"10.0.0.1"}},
		{Key: "protocol.port.1", Line: 5, KeyColumn: 2, Column: 18, Values: []string{"7946"}},
		{Key: "empty", Line: 6, KeyColumn: 1, Column: 7, Values: []string{""}},
		{Key: "url", Line: 7, KeyColumn: 1, Column: 5, Values: []string{"a=b: c"}},
	}
	if err != nil || !reflect.DeepEqual(f.Entries, want) {
		t.Errorf("%v, entries\n%+v, want\n%+v", err, f, want)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"):  "none.yaml: the file does not exist; give the path",
		filepath.Join(dir, "none", "x"):  "x: the file does not exist; give the path",
		dir:                              ": this is a directory; give the path of a file in it",
		pipe:                             "pipe: this is not a regular file",
		"/dev/null":                      "/dev/null: this is not a regular file",
		write("x", "a: 1", 0o600) + "/y": "y: not a directory; give a file that this process can read",
		write("huge", strings.Repeat("# 45678\n", 4097), 0o600): "huge: the file has more than 32768 bytes",
		"a\x00b": "invalid argument; give a file",
	} {
		_, err := configfile.Read(path)
		var fault *configfile.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	for mode, writable := range map[os.FileMode]bool{0o600: false, 0o664: false, 0o646: true, 0o666: true} {
		f, err := configfile.Read(write(fmt.Sprint(mode), "a: 1\n", mode))
		if err != nil || f.Writable != writable || len(f.Entries) != 1 {
			t.Errorf("mode %o: %+v, error %v", mode, f, err)
		}
	}
}

// TestParseLargest: files of the largest size end in an error or in entries, however they
// are nested.
func TestParseLargest(t *testing.T) {
	long.NotShort(t, "it parses megabytes of YAML for seconds")
	for _, unit := range append([]string{"? ", "a: &b *b,"}, long.Or(nil, []string{"- ", "a:\n", "*", "'"})...) {
		text := strings.Repeat(unit, configfile.MaxSize/len(unit))
		if _, err := configfile.Parse("f.yaml", []byte(text)); err == nil || len(err.Error()) > 5000 {
			t.Errorf("%d times %q: %.600v", len(text)/len(unit), unit, err)
		}
	}
	var text strings.Builder
	for i := 0; text.Len() < configfile.MaxSize-20; i++ {
		fmt.Fprintf(&text, "k%d: %d\n", i, i)
	}
	if f, err := configfile.Parse("f.yaml", []byte(text.String())); err != nil || len(f.Entries) < 1000 {
		t.Errorf("many keys: error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1\nb: [x, 'y']\n", "a:\n  - 1\n  - |\n    x\n", "{a: &b 1, c: *b}", "? a\n: b\n",
		"---\n...\n%YAML\n", "a: !!int 'x'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		file, err := configfile.Parse("f.yaml", []byte(text))
		if err != nil {
			var fault *configfile.Error
			lines := strings.Split(err.Error(), "\n")
			for _, line := range lines {
				if len(line) > 1000 || !strings.HasPrefix(line, "f.yaml") {
					t.Fatalf("%q: %q", text, err)
				}
			}
			if !errors.As(err, &fault) || strings.Contains(err.Error(), "\r") || len(lines) > 21 {
				t.Fatalf("%q: %q", text, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, e := range file.Entries {
			if e.Key == "" || seen[e.Key] || e.Line < 1 || !e.IsList && len(e.Values) != 1 {
				t.Fatalf("%q: entry %+v", text, e)
			}
			seen[e.Key] = true
		}
	})
}
