package spelling

import "strings"

// Pattern matches names: each * stands for any number of any bytes, every other byte for
// itself.
type Pattern string

// PatternMax is how many bytes a pattern has at most, as a name.
const PatternMax = 255

// Matches reports whether a name matches.
func (p Pattern) Matches(name string) bool {
	first, rest, star := strings.Cut(string(p), "*")
	if !star {
		return string(p) == name
	}
	name, found := strings.CutPrefix(name, first)
	if !found {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] { // each as early as possible
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// Literal returns how many bytes of the pattern stand for themselves.
func (p Pattern) Literal() int { return len(p) - strings.Count(string(p), "*") }
