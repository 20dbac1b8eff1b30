//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	for shell, script := range map[string]string{
		"bash": `source <(snowgrid completion bash)
COMP_WORDS=(snowgrid wait se); COMP_CWORD=2; _snowgrid; echo "${COMPREPLY[@]}"`,
		"zsh": `autoload -Uz compinit; compinit -u -D; source <(snowgrid completion zsh); words=(snowgrid wait se); CURRENT=3
compadd() { print -- ${(P)2}; }; _snowgrid`,
		"fish": `snowgrid completion fish | source; complete -C 'snowgrid wait se'`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			cmd := exec.CommandContext(t.Context(), path, "-c", script) //nolint:gosec // a shell of this machine
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
			if _, err := cmd.StdinPipe(); err != nil { // open until the end: see TestMain
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != "settled" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
