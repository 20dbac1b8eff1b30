package spelling

import (
	"fmt"
	"strings"
	"testing"
)

func TestFault(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a b": "", "größe": "", "🛒": "", "10.0.0.1:7948": "",
		" a":          "begins or ends with a space",
		"a ":          "begins or ends with a space",
		"a\u00a0":     "contains the invisible character U+00A0 at position 2",
		"\u202ea":     "contains the invisible character U+202E at position 1",
		"\u2066a":     "contains the invisible character U+2066 at position 1",
		"a\u200b":     "contains the invisible character U+200B at position 2",
		"a\u2028":     "contains the invisible character U+2028 at position 2",
		"a\u2029":     "contains the invisible character U+2029 at position 2",
		"a\ufffd":     "contains U+FFFD at position 2, in the place of bytes that were not UTF-8",
		"größe\u2800": "contains the invisible character U+2800 at position 6",
	} {
		if got := Fault(text); got != want {
			t.Errorf("Fault(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFaultOfGrid(t *testing.T) {
	for name, want := range map[string]string{
		"shop": "", "größe": "", "a-b.c_d/e": "",
		"größe a": "contains a space at position 6",
		"b a d":   "contains a space at position 2",
		"b a d ":  "begins or ends with a space",
		"a\u00a0": "contains the invisible character U+00A0 at position 2",
	} {
		if got := FaultOfGrid(name); got != want {
			t.Errorf("FaultOfGrid(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestFaultOfEveryInvisibleCharacter: each character that renders as nothing is refused by its number,
// wherever it is; marks and letters that render stay.
func TestFaultOfEveryInvisibleCharacter(t *testing.T) {
	for _, of := range [][2]rune{{0x2800, 0x2800}, {0x115f, 0x1160}, {0x3164, 0x3164}, {0xffa0, 0xffa0}, {0x34f, 0x34f},
		{0xfe00, 0xfe0f}, {0xe0100, 0xe01ef}, {0xad, 0xad}, {0x61c, 0x61c}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3},
		{0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a},
		{0x3000, 0x3000}} {
		for r := of[0]; r <= of[1]; r++ {
			want := fmt.Sprintf("contains the invisible character %U at position 2", r)
			if got := Fault("a" + string(r) + "b"); got != want {
				t.Errorf("with %U: %q, want %q", r, got, want)
			}
		}
	}
	for _, r := range "é\u0301ก็ह्한注🛒\u2801\u00b7-_/:*" {
		if got := Fault("a" + string(r)); got != "" {
			t.Errorf("with %U: %q", r, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"größe": `"größe"`, "a\u2800b": `"a\u2800b"`, "a\ufe0f": `"a\ufe0f"`, "a\u00a0\n\xff\"": `"a\u00a0\n\xff\""`,
		"\U000e0100": `"\U000e0100"`, "a b": `"a b"`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestIsPlain(t *testing.T) {
	long := strings.Repeat("x", MaxPlain)
	for text, want := range map[string]bool{"": true, "größe 1": true, long: true, long + "x": false, "a\n": false,
		"a\x7f": false, "\u0085": false, "\xff": false, "\u202e": true} {
		if got := IsPlain(text); got != want {
			t.Errorf("IsPlain(%q) = %v", text, got)
		}
	}
}
