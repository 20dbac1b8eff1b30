// Package script runs the scripts under testdata of the pure packages.
//
// A script is a list of steps with an empty line between two of them. A step is a few
// lines of verbs with arguments, then "----", then the output of the verbs. A line that
// begins with # is a comment. go test -update writes the output into the scripts; read
// the diff.
package script

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the output of the scripts into them")

// Run runs each script that matches the pattern as a subtest. For each script, start
// returns the function that executes one line, given as words, and returns its output.
func Run(t *testing.T, pattern string, start func() func(words []string) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts match %s: %v", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			runFile(t, path, start())
		})
	}
}

func runFile(t *testing.T, path string, execute func(words []string) string) {
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := play(string(want), execute)
	if got == string(want) {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("output differs (go test -update, then read the diff); got:\n%s", got)
}

// play executes the verbs of a script and returns it with their output.
func play(text string, execute func(words []string) string) string {
	var out bytes.Buffer
	for step := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		verbs, _, _ := strings.Cut(step+"\n", "----\n")
		out.WriteString(verbs + "----\n")
		for line := range strings.Lines(verbs) {
			if !strings.HasPrefix(line, "#") {
				out.WriteString(execute(strings.Fields(line)))
			}
		}
		out.WriteByte('\n')
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// Number returns the decimal number that a word spells, and panics if it spells none.
func Number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// Duration returns the duration that a word such as 1.5s spells, and panics if it
// spells none.
func Duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		panic(err)
	}
	return d
}
