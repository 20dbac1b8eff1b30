package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
)

// TestHelpTextsAreRead: each file in help is the text of a command, so that no command loses its text by a new name.
func TestHelpTextsAreRead(t *testing.T) {
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	err = kong.Visit(parser.Model, func(visited kong.Visitable, next kong.Next) error {
		if node, is := visited.(*kong.Node); is && node.Detail != "" {
			read++
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("help/*")
	if err != nil || len(files) == 0 || read != len(files) {
		t.Errorf("%d files, %d commands with a text (%v)", len(files), read, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 || filepath.Ext(file) != ".txt" {
			t.Errorf("%s: give it a text and the suffix .txt (%v)", file, err)
		}
	}
}
