package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedSecureCommands: the commands in the section of docs/commands.md about
// certificates, keys and tokens work as they are, one after the other.
func TestDocumentedSecureCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Certificates, keys and tokens\n")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := regexp.MustCompile(`(?m)^    (?:token=\$\()?snowgrid ([^#\n)]+)`).FindAllStringSubmatch(section, -1)
	if !found || len(lines) < 10 {
		t.Fatalf("%d commands in the section", len(lines))
	}
	t.Chdir(t.TempDir())
	for _, line := range lines {
		args := strings.Fields(line[1])
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		succeed(t, args...)
	}
	if files := filesOf(t, "web-security"); len(files) != 3 {
		t.Errorf("web-security has %v", files)
	}
}
