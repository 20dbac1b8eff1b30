package script

import (
	"strings"
	"testing"
)

// TestPlay: comments are kept, old output is replaced, and each step has its own output.
func TestPlay(t *testing.T) {
	const text = "# a comment\nsay one two\n----\nold\n\nsay three\n----\n"
	const want = "# a comment\nsay one two\n----\none two\n\nsay three\n----\nthree\n"
	got := play(text, func(words []string) string { return strings.Join(words[1:], " ") + "\n" })
	if got != want {
		t.Errorf("played\n%swant\n%s", got, want)
	}
	if again := play(got, func(words []string) string { return strings.Join(words[1:], " ") + "\n" }); again != got {
		t.Errorf("played again\n%s", again)
	}
}
