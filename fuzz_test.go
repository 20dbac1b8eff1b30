package snowgrid_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFuzzingIsNotSpentOnMinimizing: every command of the repository that fuzzes bounds the minimization of new
// inputs, which otherwise takes up to 60 s for each, the whole time of a target.
func TestFuzzingIsNotSpentOnMinimizing(t *testing.T) {
	found := 0
	for _, name := range []string{"Makefile", ".ci/run"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !regexp.MustCompile(`\s-fuzz[ =]`).MatchString(line) {
				continue
			}
			if found++; !strings.Contains(line, " -fuzzminimizetime 1x ") {
				t.Errorf("%s: %s spends its time on minimizing inputs: add -fuzzminimizetime 1x", name, strings.TrimSpace(line))
			}
		}
	}
	if found == 0 {
		t.Error("no command fuzzes")
	}
}
