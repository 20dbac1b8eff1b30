//go:build linux

package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// judgement is the result of all checkers.
type judgement struct {
	seed    uint64
	length  time.Duration
	members int
	holders int
	runs    []holderRun
	faults  []fault
	failed  error // making faults
	stuck   error // holders without IDs after the last fault
	lost    losses
	ids     idVerdict
	grants  grantVerdict
	tables  tableVerdict
	gaps    []gap
	took    time.Duration // all checks
}

// judge runs every checker on the histories.
func (w *world) judge(f *faults) judgement {
	w.t.Helper()
	j := judgement{members: len(w.members), holders: len(w.holders), runs: w.holderRuns(), lost: w.losses()}
	j.faults, j.failed = f.verdict()
	began := time.Now()
	j.ids = checkIDs(j.runs)
	j.grants = checkGrants(j.runs)
	j.tables = checkTables(j.runs, j.lost, searchMax)
	j.gaps = longestGaps(j.runs, stoppedIn(j.faults))
	slices.SortFunc(j.gaps, func(a, b gap) int { return cmp.Compare(b.length, a.length) })
	j.took = time.Since(began)
	return j
}

// complaints returns the broken promises, as text.
func (j judgement) complaints() (all []string) {
	if j.failed != nil {
		all = append(all, "injecting faults failed: "+j.failed.Error())
	}
	if j.stuck != nil {
		all = append(all, "after the last fault: "+j.stuck.Error())
	}
	if j.ids.duplicates > 0 || j.ids.disorder > 0 {
		all = append(all, fmt.Sprintf("%d duplicates, %d out of order: %q", j.ids.duplicates, j.ids.disorder, j.ids.findings))
	}
	if j.grants.overlaps > 0 {
		all = append(all, fmt.Sprintf("%d overlapping grants: %q", j.grants.overlaps, j.grants.findings))
	}
	if j.grants.uses == 0 || j.tables.operations == 0 {
		all = append(all, fmt.Sprintf("%d uses of logical nodes and %d steps of names: that shows nothing", j.grants.uses,
			j.tables.operations))
	}
	if len(j.tables.broken) > 0 {
		all = append(all, fmt.Sprintf("not linearizable: %q", j.tables.broken))
	}
	if len(j.tables.undecided) > 0 {
		all = append(all, fmt.Sprintf("no decision about linearizability within %v: %q", searchMax, j.tables.undecided))
	}
	return all
}

// report is the judgement in Markdown.
func (j judgement) report() string {
	var b strings.Builder
	verdict := "passed"
	if len(j.complaints()) > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(&b, "# Chaos report: %s\n\n", verdict)
	fmt.Fprintf(&b, "%d members, %d holders, %v of faults, seed %d.\nMachine: %s.\n\n", j.members, j.holders, j.length,
		j.seed, machine())
	for _, complaint := range j.complaints() {
		fmt.Fprintf(&b, "- **%s**\n", complaint)
	}
	b.WriteString("| metric | value | unit | required |\n|---|---|---|---|\n")
	fmt.Fprintf(&b, "| IDs, in %[2]s runs of consecutive ones | %[1]s | | |\n", grouped(j.ids.ids), grouped(j.ids.spans))
	fmt.Fprintf(&b, "| duplicates | %d | | 0 |\n", j.ids.duplicates)
	fmt.Fprintf(&b, "| IDs of a handle out of order | %d | | 0 |\n", j.ids.disorder)
	fmt.Fprintf(&b, "| overlapping grants, inferred from %d uses of logical nodes | %d | | 0 |\n", j.grants.uses,
		j.grants.overlaps)
	fmt.Fprintf(&b, "| linearizable: tables of %d names, %d steps | %s | | yes |\n", j.tables.names, j.tables.operations,
		j.linearizable())
	fmt.Fprintf(&b, "| names in a partition that lost every copy, checked up to the loss | %d | | |\n", j.tables.forgetful)
	fmt.Fprintf(&b, "| time of the checks | %.2f | s | |\n\n", j.took.Seconds())
	j.reportFaults(&b)
	j.reportOperations(&b)
	j.reportGaps(&b)
	if len(j.tables.evidence) > 0 {
		fmt.Fprintf(&b, "\n## Steps without an explanation\n\n%s", strings.Join(j.tables.evidence, "\n"))
	}
	return b.String()
}

func (j judgement) linearizable() string {
	switch {
	case len(j.tables.broken) > 0:
		return "**no**"
	case len(j.tables.undecided) > 0:
		return "undecided"
	}
	return "yes"
}

func (j judgement) reportFaults(b *strings.Builder) {
	counts, lengths := map[string]int{}, map[string]time.Duration{}
	for _, one := range j.faults {
		counts[one.kind]++
		lengths[one.kind] = max(lengths[one.kind], one.till-one.from)
	}
	fmt.Fprintf(b, "## Faults: %d\n\n| kind | count | longest |\n|---|---|---|\n", len(j.faults))
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		longest := lengths[kind].Round(100 * time.Millisecond).String()
		if strings.HasPrefix(kind, "clock step") {
			longest = "until the next step"
		}
		fmt.Fprintf(b, "| %s | %d | %s |\n", kind, counts[kind], longest)
	}
	events, all := 0, 0
	for _, at := range j.lost {
		events, all = max(events, len(at)), all+len(at)
	}
	fmt.Fprintf(b,
		"\nLosses of every copy of a partition: %d in total, at most %d of one partition; the start of the grid counts as "+
			"one.\n\n", all, events)
}

// reportOperations counts operations as Jepsen does: those that took effect, those that
// certainly did not, and those with an unknown result.
func (j judgement) reportOperations(b *strings.Builder) {
	type count struct{ attempted, acknowledged, failed, unknown int }
	counts := map[history.Kind]*count{}
	var longest time.Duration
	for _, run := range j.runs {
		for _, op := range run.ops {
			c := counts[op.Kind]
			if c == nil {
				c = &count{}
				counts[op.Kind] = c
			}
			c.attempted++
			switch op.Outcome {
			case history.OK:
				c.acknowledged++
			case history.NotFound, history.Destroyed, history.Refused, history.Orphaned:
				c.failed++
			default:
				c.unknown++
			}
			if op.Kind == history.Attach && op.Outcome == history.OK {
				longest = max(longest, op.Return-op.Call)
			}
		}
	}
	b.WriteString("## Operations\n\n| operation | attempted | acknowledged | failed | unknown |\n|---|---|---|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		fmt.Fprintf(b, "| %v | %d | %d | %d | %d |\n", kind, c.attempted, c.acknowledged, c.failed, c.unknown)
	}
	fmt.Fprintf(b, "\nLongest acknowledged attach: %v.\n\n", longest.Round(time.Millisecond))
}

func (j judgement) reportGaps(b *strings.Builder) {
	b.WriteString("## Longest gaps without IDs\n\nPer start of a holder and attachment, without the time for which the " +
		"test had stopped it.\n\n")
	b.WriteString("| holder | longest gap |\n|---|---|\n")
	for _, g := range j.gaps {
		fmt.Fprintf(b, "| %s | %v |\n", g.who, g.length.Round(time.Millisecond))
	}
}

func machine() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		release = []byte("unknown")
	}
	return fmt.Sprintf("%s %s, kernel %s, %d processors, %s",
		runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(release)), runtime.NumCPU(), runtime.Version())
}
