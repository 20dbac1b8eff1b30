package chaos

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// holderRun is the history of one process of a holder, from its start to its end.
type holderRun struct {
	name   string // for findings
	holder string // the place that the process ran in
	ops    []history.Op
}

// span is a run of consecutive IDs and who got it.
type span struct {
	first, last int64
	who         int32 // index of the holderRun
}

// idVerdict is the result of checkIDs.
type idVerdict struct {
	ids, spans uint64
	duplicates uint64 // IDs that came again, each time counted
	disorder   uint64 // IDs of a handle that are not above its IDs before
	findings   findings
}

// findings are the first errors found, as text.
type findings []string

const findingsMax = 10

func (f *findings) add(format string, args ...any) {
	if len(*f) < findingsMax {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// checkIDs compares every ID with every other of the same sequencer, exactly: it
// sorts the runs of consecutive IDs, and what reaches into a run before it is there
// twice. It takes 24 bytes a run, so even if no two IDs were consecutive, 10^8 of
// them would fit into a few GiB.
func checkIDs(runs []holderRun) idVerdict {
	var v idVerdict
	names := spacesFor(runs)
	for i, run := range runs {
		last := map[int]int64{}
		for _, op := range run.ops {
			for _, r := range op.Runs {
				if before, some := last[op.Handle]; some && r.First <= before {
					v.disorder++
					v.findings.add("%s: %s gave %d after %d", run.name, op.Name, r.First, before)
				}
				last[op.Handle] = r.Last()
				v.ids += uint64(r.Count)
				v.spans++
				names[op.Name] = append(names[op.Name], span{first: r.First, last: r.Last(), who: int32(i)})
			}
		}
	}
	for name, spans := range names {
		v.duplicates += countDuplicates(spans, func(a, b span, count int64) {
			v.findings.add("%s: %d IDs from %d on came to %s and to %s", name, count, b.first, runs[a.who].name,
				runs[b.who].name)
		})
	}
	return v
}

// spacesFor makes room for the spans of each name, so that many millions need not
// be copied while they are gathered.
func spacesFor(runs []holderRun) map[string][]span {
	counts := map[string]int{}
	for _, run := range runs {
		for _, op := range run.ops {
			counts[op.Name] += len(op.Runs)
		}
	}
	names := map[string][]span{}
	for name, count := range counts {
		names[name] = make([]span, 0, count)
	}
	return names
}

// countDuplicates sorts the spans and returns how many IDs come again in them.
func countDuplicates(spans []span, found func(a, b span, count int64)) (duplicates uint64) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for i, reach := 1, 0; i < len(spans); i++ {
		if count := min(spans[i].last, spans[reach].last) - spans[i].first + 1; count > 0 {
			duplicates += uint64(count)
			found(spans[reach], spans[i], count)
		}
		if spans[i].last > spans[reach].last {
			reach = i
		}
	}
	return duplicates
}

// grouped writes a number with a comma after each three digits.
func grouped(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
