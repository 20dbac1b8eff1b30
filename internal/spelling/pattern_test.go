package spelling

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatches compares patterns with regular expressions.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[ab*]{0,6}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "name")
		want := regexp.MustCompile("^" + strings.ReplaceAll(p, "*", ".*") + "$").MatchString(name)
		if got := Pattern(p).Matches(name); got != want {
			t.Fatalf("%q of %q: %v", p, name, got)
		}
		if !Pattern(name).Matches(name) { // patterns drawn alone seldom match without a star
			t.Fatalf("%q does not match itself", name)
		}
		if got, want := Pattern(p).Literal(), len(strings.ReplaceAll(p, "*", "")); got != want {
			t.Fatalf("%q has %d literal bytes, want %d", p, got, want)
		}
	})
}
