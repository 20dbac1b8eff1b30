package main

import (
	"strings"
	"testing"
)

// TestFlagsBeyondLimits: a time limit that has ended when it begins, and a port that does not exist, are
// mistakes of the command line, and no silence of the grid.
func TestFlagsBeyondLimits(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"status --timeout=0s":                  `--timeout=0s: give a duration above 0, such as 10s`,
		"next orders --timeout=-1s":            `--timeout=-1s: give a duration above 0, such as 10s`,
		"alive --timeout=0s":                   `--timeout=0s: give a duration above 0, such as 10s`,
		"init --first-life --timeout=0s":       `--timeout=0s: give a duration above 0, such as 10s`,
		"agent --leave-timeout=0s":             `--leave-timeout=0s: give a duration above 0, such as 10s`,
		"agent --expect 1 --leave-timeout=-5s": `--leave-timeout=-5s: give a duration above 0, such as 10s`,
		"status --addr localhost:99999":        `--addr=localhost:99999: the port is "99999"; give 1 to 65535`,
		"wait ready --addr localhost:x-y":      `--addr=localhost:x-y: the port is "x-y"; give 1 to 65535`,
	} {
		status, stdout, stderr := runCommand(t, strings.Fields(line)...)
		if want := "snowgrid: " + want; status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", line, status, stdout, stderr, want)
		}
	}
}
