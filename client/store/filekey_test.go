package store

import (
	"path"
	"strings"
	"testing"
)

func TestFileOf(t *testing.T) {
	for key, want := range map[string]string{
		"orders/0.json":               "orders/0.json",
		"orders/node-ids-initialized": "orders/node-ids-initialized",
		"../../etc/passwd":            "%2e./%2e./etc/passwd",
		"/i3d/x":                      "%/i3d/x",
		"a//b/":                       "a/%/b/%",
		".locks/00":                   "%2elocks/00",
		"Orders":                      "%4frders",
		"100%25":                      "100%2525",
		"a\\b\x00+":                   "a%5cb%00%2b",
		"ü":                           "%c3%bc",
		strings.Repeat("a", 450): strings.Repeat("a", 197) + "+/" + strings.Repeat("a", 197) + "+/" + strings.Repeat("a",
			56),
	} {
		if got := fileOf(key); got != want {
			t.Errorf("the file of %.80q is %.80q, not %.80q", key, got, want)
		}
	}
	for _, name := range []string{"", "A", "a+", "aaa+/b", "%61", "%2E./b", "%zz", "%6", "x%", "a/../b", ".locks/00",
		"%%"} {
		if key, ok := keyOf(name); ok {
			t.Errorf("file %q counts as key %q", name, key)
		}
	}
}

func FuzzFileOf(f *testing.F) {
	for _, key := range []string{"orders/0.json", "../x", "a//b", ".locks/00", "Ü%/", "CON", strings.Repeat("Z", 1000),
		strings.Repeat(".", 1000), strings.Repeat("+", 199)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if key == "" || len(key) > keyMax {
			return
		}
		name := fileOf(key)
		if back, ok := keyOf(name); !ok || back != key {
			t.Fatalf("key %q has file %q, which is of key %q, %v", key, name, back, ok)
		}
		if path.Clean(name) != name || path.IsAbs(name) || name != strings.ToLower(name) {
			t.Fatalf("key %q has file %q", key, name)
		}
		for part := range strings.SplitSeq(name, "/") {
			if part == "" || part[0] == '.' || len(part) > nameMax {
				t.Fatalf("key %q has a file with the part %q", key, part)
			}
		}
	})
}
