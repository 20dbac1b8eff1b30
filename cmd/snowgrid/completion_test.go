//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/kongtest"
)

func TestCompletions(t *testing.T) {
	withContexts(t)
	if status, _, stderr := runCommand(t, "context", "add", "prod", "--addr", "10.0.0.1:7948"); status != 0 {
		t.Fatal(stderr)
	}
	for line, want := range map[string]string{
		"stat":             "status",
		"next orders --la": "--layout",
		"config ":          "check print reference",
		"sec":              "secure",
		"man nex":          "next", "context use ": "prod",
		"status -o ":                 "text json",
		"status --output j":          "json",
		"status --output=j":          "--output=json",
		"status --output = j":        "json",
		"status --context ":          "prod",
		"status --context prod --ch": "--check",
		"wait ":                      "ready settled",
		"wait ready ":                "",
		"completion z":               "zsh",
		"next ":                      "",
		"frobnicate --ver":           "--version",
		"__com":                      "",
		"agent --data-dir ":          "",
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		status, stdout, stderr := runCommand(t, append([]string{"__complete", "--"}, words...)...)
		if got := strings.Join(strings.Fields(stdout), " "); status != 0 || got != want {
			t.Errorf("%q: %q, want %q; status %d %s", line, got, want, status, stderr)
		}
	}
	all := strings.Fields(func() string { _, out, _ := runCommand(t, "__complete", "--", ""); return out }())
	if len(all) < 25 || !slices.Contains(all, "take-anchor") {
		t.Errorf("commands: %q", all)
	}
}

// TestCompletionScripts runs the script of each shell that is installed.
func TestCompletionScripts(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wrapper := "#!/bin/sh\n" + runsCommand + "=1 exec " + exe + " \"$@\"\n"
	//nolint:gosec // a program
	if err := os.WriteFile(filepath.Join(dir, "snowgrid"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	kongtest.CompletionScripts(t, filepath.Join(dir, "snowgrid"), "wait", "se", "settled")
}
