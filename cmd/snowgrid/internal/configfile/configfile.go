// Package configfile reads the agent's configuration file: YAML with one key per line, each with one
// value or a list.
//
//	expect: 3
//	window: 15s
//	join:
//	  - 10.0.0.1:7946
//	  - 10.0.0.2:7946
//
// A Java properties file (key=value lines only) is read as well.
//
// The YAML is a subset, so that every value has one place and one meaning: no sections, anchors,
// aliases, tags or further documents. The package accepts any key; an [Entry] has its line, so that
// the caller can report unknown keys.
package configfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// File limits. They are small because the time to parse grows with the square of both.
const (
	MaxSize    = 32 << 10 // bytes
	maxBracket = 1000     // opening brackets of lists and maps
	maxFaults  = 20       // that are reported at a time
)

// Entry is a key and its value.
type Entry struct {
	Key       string
	Line      int      // of the key, from 1
	KeyColumn int      // from 1
	Column    int      // the value's if it is on that line, else the key's
	Values    []string // the value, or the list's values
	IsList    bool
}

// File is a file that was read. Its keys differ.
type File struct {
	Path    string
	Entries []Entry
	// Writable reports that any user on the machine may change the file.
	Writable bool
}

// add adds an entry, unless its key is there.
func (f *File) add(e Entry) error {
	if earlier, twice := f.Entry(e.Key); twice {
		return &Error{Path: f.Path, Line: e.Line, Column: e.KeyColumn, Key: e.Key,
			Problem: fmt.Sprintf("the key is on line %d already; remove one of the two", earlier.Line)}
	}
	f.Entries = append(f.Entries, e)
	return nil
}

// Entry returns the entry of a key.
func (f *File) Entry(key string) (Entry, bool) {
	i := slices.IndexFunc(f.Entries, func(e Entry) bool { return e.Key == key })
	if i < 0 {
		return Entry{}, false
	}
	return f.Entries[i], true
}

// Error is a value that cannot work: its place, its text, and the remedy. The place is in a file, or
// the flag or variable that sets the key.
type Error struct {
	Path          string
	Line          int    // 0: the file as a whole
	Column        int    // 0: the line as a whole
	Setter        string // the flag or variable, instead of a path
	Key, Value    string
	Problem       string // with the remedy
	ValueIsHidden bool   // the value is a secret
}

// IsPlaced reports whether the error names a place.
func (e *Error) IsPlaced() bool { return e.Path != "" || e.Setter != "" }

// Error returns one line: the place, the key, the value and the problem.
func (e *Error) Error() string {
	text := e.Path
	if text == "" {
		text = cmp.Or(e.Setter, "--"+e.Key)
		if e.Value != "" && !e.ValueIsHidden {
			text += fmt.Sprintf("=%.120s", e.Value)
		}
		return text + ": " + e.Problem
	}
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.Column > 0 {
		text += fmt.Sprintf(":%d", e.Column)
	}
	if e.Key != "" {
		text += fmt.Sprintf(": %.80s", plain(e.Key))
	}
	if e.Value != "" && !e.ValueIsHidden {
		text += fmt.Sprintf(": %.120q", e.Value)
	}
	return text + ": " + e.Problem
}

// plain returns a key as it is, or quoted if it is not printable on one line.
func plain(key string) string {
	quoted := fmt.Sprintf("%q", key)
	if quoted[1:len(quoted)-1] == key {
		return key
	}
	return quoted
}

// Read reads a file, with the errors of Parse.
func Read(path string) (*File, error) {
	text, info, err := load(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(path, text)
	if f != nil {
		f.Writable = IsWritable(info)
	}
	return f, err
}

// IsWritable reports whether any user of the machine may change a file. Where the system
// has no such permission bits it reports false.
func IsWritable(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

func load(path string) ([]byte, fs.FileInfo, error) {
	fault := func(format string, args ...any) error {
		return &Error{Path: path, Problem: fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(path) // before it is opened: opening a pipe waits for its writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fault("the file does not exist; give the path of a configuration file, or omit it")
	case err != nil:
		return nil, nil, fault("%v; give a file that this process can read", Cause(err))
	case info.IsDir():
		return nil, nil, fault("this is a directory; give the path of a file in it")
	case !info.Mode().IsRegular():
		return nil, nil, fault("this is not a regular file; give the path of one")
	}
	text, err := ReadAtMost(path, MaxSize+1)
	switch {
	case err != nil:
		return nil, nil, fault("%v; give a file that this process can read", Cause(err))
	case len(text) > MaxSize:
		return nil, nil, fault("the file has more than %d bytes; a configuration file is smaller, check the path", MaxSize)
	}
	return text, info, nil
}

// ReadAtMost returns the first bytes of a file.
func ReadAtMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, most))
}

// Cause returns an error of package os without the path, which the message has already.
func Cause(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	return err
}

// Parse parses a file's text; path names it in errors. Errors are [*Error] values, joined if there are
// several, and come with the valid entries.
func Parse(path string, text []byte) (*File, error) {
	fault := func(line int, format string, args ...any) (*File, error) {
		return nil, &Error{Path: path, Line: line, Problem: fmt.Sprintf(format, args...)}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if line := badLine(text); line > 0 {
		return fault(line, "this is not UTF-8 text without control characters; give a text file")
	}
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBracket {
		return fault(0, "the file has more than %d opening brackets; write each key and its value on a line of its own",
			maxBracket)
	}
	if f, err := properties(path, text); f != nil {
		return f, err
	}
	tree, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			token := syntax.GetToken()
			return nil, &Error{Path: path, Line: token.Position.Line, Column: token.Position.Column,
				Value: firstLine(token.Value),
				Problem: "this is not YAML (" + firstLine(syntax.GetMessage()) +
					"); write \"key: value\" on each line, without indentation, and quote values with special characters"}
		}
		return fault(0, "this is not YAML (%s); write \"key: value\" on each line", firstLine(err.Error()))
	}
	var body ast.Node
	for _, document := range tree.Docs {
		switch {
		case document.Body == nil:
		case body != nil:
			line, _ := placeOf(document.Body)
			return fault(line, "a second document begins here; write all keys in one, without a line of ---")
		default:
			body = document.Body
		}
	}
	if body == nil {
		return fault(0, "the file has no keys; write \"key: value\" on each line, or omit the file")
	}
	return entries(path, body)
}

func entries(path string, body ast.Node) (*File, error) {
	mapping, is := body.(*ast.MappingNode)
	if !is {
		line, _ := placeOf(body)
		return nil, &Error{Path: path, Line: line, Value: firstLine(body.GetToken().Value),
			Problem: "this is not a key and a value; write \"key: value\" on each line"}
	}
	f := &File{Path: path}
	var faults []error
	for _, pair := range mapping.Values {
		entry, err := entryOf(path, pair)
		if err == nil {
			err = f.add(entry)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(mapping.Values) == 0 {
		return nil, &Error{Path: path, Problem: "the file has no keys; write \"key: value\" on each line, or omit the file"}
	}
	return f, joined(path, faults)
}

// joined returns the first faults of a file as one error, nil for none.
func joined(path string, faults []error) error {
	if more := len(faults) - maxFaults; more > 0 {
		noun := "mistakes"
		if more == 1 {
			noun = "mistake"
		}
		faults = append(faults[:maxFaults:maxFaults],
			&Error{Path: path, Problem: fmt.Sprintf("%d more %s; correct these first", more, noun)})
	}
	return errors.Join(faults...)
}

// entryOf returns the entry of a key and its value, or its fault.
func entryOf(path string, pair *ast.MappingValueNode) (Entry, error) {
	line, column := placeOf(pair.Key)
	entry := Entry{Line: line, KeyColumn: column, Column: column, Key: firstLine(pair.Key.GetToken().Value)}
	if _, plain := pair.Key.(*ast.StringNode); !plain {
		return entry, &Error{Path: path, Line: entry.Line, Column: entry.Column, Key: entry.Key,
			Problem: "this is not a key; write \"key: value\" on each line"}
	}
	items := []ast.Node{pair.Value}
	if list, is := pair.Value.(*ast.SequenceNode); is {
		items, entry.IsList = list.Values, true
	}
	for _, item := range items {
		value, problem := scalar(item)
		if problem != "" {
			if l, c := placeOf(item); l >= line {
				line, column = l, c
			}
			return entry, &Error{Path: path, Line: line, Column: column, Key: entry.Key, Value: value, Problem: problem}
		}
		entry.Values = append(entry.Values, value)
	}
	if l, c := placeOf(pair.Value); l == line {
		entry.Column = c
	}
	return entry, nil
}

// scalar returns the text of a value, or a problem.
func scalar(n ast.Node) (value, problem string) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, ""
	case *ast.LiteralNode:
		return n.Value.Value, ""
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, ""
	case *ast.NullNode:
		return "", "the key has no value; write one after the colon, or remove the line"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "", "keys are not grouped in sections; write each key and its value on a line of its own, without indentation"
	case *ast.SequenceNode:
		return "", "a list in a list has no meaning; write one list of values"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return firstLine(n.GetToken().Value),
			"anchors, aliases and tags of YAML are not used here; write the value, in quotes if it begins with & * or !"
	}
	return "", "this is not a value; write text, a number, or a list of them"
}

// placeOf returns the line and the column of a node, from 1.
func placeOf(n ast.Node) (line, column int) {
	if token := n.GetToken(); token != nil && token.Position != nil {
		return token.Position.Line, token.Position.Column
	}
	return 0, 0
}

// badLine returns the first line with a control character or with bytes that are not
// UTF-8, 0 for none.
func badLine(text []byte) int {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && size <= 1, r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return line
		}
		text = text[size:]
	}
	return 0
}

// firstLine returns the first line of a text that is not empty, without spaces around it.
func firstLine(text string) string {
	for line := range bytes.Lines([]byte(text)) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			return string(trimmed)
		}
	}
	return ""
}
