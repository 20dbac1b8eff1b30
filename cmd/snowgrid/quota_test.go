//go:build unix

package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestQuotaCommands: quotas are set, listed with their use, and removed, and unused
// sequencers are listed and removed, at a real grid.
func TestQuotaCommands(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	addrs := startListed(t)
	run := func(want int, args ...string) string {
		t.Helper()
		status, stdout, stderr := runCommand(t, append(args, "--addr", addrs)...)
		if status != want {
			t.Fatalf("%v: status %d, want %d: %s%s", args, status, want, stdout, stderr)
		}
		return stdout + stderr
	}
	says := func(out, pattern string) {
		t.Helper()
		if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
			t.Errorf("%q has no line %q", out, pattern)
		}
	}
	says(run(exitDone, "quota"), "^no quotas$")
	says(run(exitDone, "quota", "set", "or*", "--names", "1", "--peer-nodes", "5"), `^or\* +1 +\S+ +- +5 +-$`)
	says(run(exitDone, "quota", "set", "or*", "--calls", "100", "--peer-nodes", "0"), `^or\* +1 +\S+ +- +- +100$`)
	// The use is not certain while a partition changes its owner, as it may on a busy machine.
	for args, pattern := range map[string]string{
		"quota": `(?m)^or\* +1 +1 `, "status": `(?m)^or\* +1 +1 +- +- +100$`,
		"quota list -o json": `(?s)"pattern": ?"or\*".*"calls": ?100,.*"used": ?1\b`,
	} {
		used := regexp.MustCompile(pattern)
		for deadline := time.Now().Add(30 * time.Second); !used.MatchString(run(exitDone, strings.Fields(args)...)); {
			if time.Now().After(deadline) {
				t.Fatalf("%s does not list the use of the quota", args)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	says(run(exitFailed, "next", "orbit"),
		`there is 1 sequencer of "or\*", and its quota allows 1; destroy one, remove unused ones`)
	for args, want := range map[string]string{
		"quota set x":                                       "give one of --names, --holder-nodes, --peer-nodes and --calls",
		"quota set x --names=-1":                            `names is -1; give 1 to 1000000000, or 0 for no limit`,
		"sequencers remove --unused-for 1h":                 "--dry-run or --yes",
		"sequencers remove --dry-run":                       "--unused-for",
		"sequencers remove --unused-for 1h --prefix= --yes": `--prefix="": every name begins so; give the beginning`,
		"sequencers remove --unused-for 1ms --dry-run":      "give at least 1s",
		"sequencers remove --unused-for 1h --dry-run -y":    "unknown flag",
	} {
		says(run(exitUsage, strings.Fields(args)...), want)
	}
	says(run(exitFailed, "quota", "remove", "none"),
		`quota "none": there is none with this pattern; snowgrid quota list has all`)
	says(run(exitDone, "quota", "remove", "or*"), "^no quotas$")

	run(exitDone, "next", "test/a")
	run(exitDone, "next", "test/b")
	for deadline := time.Now().Add(30 * time.Second); ; {
		out := run(exitDone, "sequencers", "remove", "--unused-for", "1s", "--prefix", "test/", "--dry-run")
		if strings.Contains(out, "2 sequencers unused; --yes removes them") {
			says(out, `^test/a +\S+ +unused$`)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(out)
		}
		time.Sleep(100 * time.Millisecond)
	}
	says(run(exitDone, "sequencers", "remove", "--unused-for", "1h", "--dry-run"), "^0 sequencers unused")
	says(run(exitDone, "sequencers", "remove", "--unused-for", "1s", "--prefix", "test/", "--yes"),
		"^2 sequencers removed, 0 failed$")
	says(run(exitDone, "sequencers", "list", "--prefix", "test/"), "^no sequencers$")
	says(run(exitDone, "sequencers", "--prefix", "or"), "^orders ") // attached, and listed by the short form
}
