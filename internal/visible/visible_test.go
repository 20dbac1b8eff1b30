package visible

import "testing"

func TestFault(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a b": "", "größe": "", "🛒": "", "10.0.0.1:7948": "",
		" a":      "begins or ends with a space",
		"a ":      "begins or ends with a space",
		"a\u00a0": "contains the invisible character U+00A0",
		"\u202ea": "contains the invisible character U+202E",
		"\u2066a": "contains the invisible character U+2066",
		"a\u200b": "contains the invisible character U+200B",
		"a\u2028": "contains the invisible character U+2028",
		"a\u2029": "contains the invisible character U+2029",
	} {
		if got := Fault(text); got != want {
			t.Errorf("Fault(%q) = %q, want %q", text, got, want)
		}
	}
}
