package main

import (
	"testing"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/kongtest"
)

// programGrammar returns the whole grammar of the program.
func programGrammar(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := newParser(&commands{}, newSources())
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// TestDocumentedCommands: the commands in the pages exist, and have the flags that the pages give them.
func TestDocumentedCommands(t *testing.T) { kongtest.Documented(t, programGrammar(t), 60) }

// TestEveryCommandIsDocumented: a page names each command, and the keys' page each flag of an agent. The
// flags of each command are in its manual page: see TestManPages.
func TestEveryCommandIsDocumented(t *testing.T) { kongtest.EveryCommand(t, programGrammar(t)) }
