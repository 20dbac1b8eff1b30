package stores

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// span is a run of consecutive IDs that one process received.
type span struct {
	first, last int64
	process     string
}

// verdict is the result of comparing IDs.
type verdict struct {
	ids, duplicates, disorder int64
	findings                  []string // the first ones
}

func (v *verdict) add(format string, args ...any) {
	if len(v.findings) < 10 {
		v.findings = append(v.findings, fmt.Sprintf(format, args...))
	}
}

// compare compares every ID of the holders of one sequencer with every other, exactly: it
// sorts the runs of consecutive IDs, and a run that begins below the end of those before
// has IDs that were issued twice.
func compare(holders []*holder) (v verdict) {
	var all []span
	for _, h := range holders {
		for start, runs := range h.runs() {
			name := fmt.Sprintf("%s, start %d", h.name, start+1)
			all = append(all, v.gather(name, runs)...)
		}
	}
	v.overlaps(all)
	return v
}

// gather returns one process's runs as spans, and counts IDs that do not ascend.
func (v *verdict) gather(process string, runs []history.Run) (spans []span) {
	var last int64
	for _, r := range runs {
		if r.First <= last {
			v.disorder++
			v.add("%s received %d after %d", process, r.First, last)
		}
		last = r.Last()
		v.ids += r.Count
		spans = append(spans, span{first: r.First, last: last, process: process})
	}
	return spans
}

// overlaps counts the IDs that are in more than one span.
func (v *verdict) overlaps(all []span) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for i, reach := 1, 0; i < len(all); i++ {
		if count := min(all[i].last, all[reach].last) - all[i].first + 1; count > 0 {
			v.duplicates += count
			v.add("%d IDs from %d on came to %s and to %s", count, all[i].first, all[reach].process, all[i].process)
		}
		if all[i].last > all[reach].last {
			reach = i
		}
	}
}

// judge fails the test for each finding, and for too few IDs.
func (v verdict) judge(t *testing.T, atLeast int64) {
	t.Helper()
	for _, f := range v.findings {
		t.Error(f)
	}
	if v.duplicates > 0 || v.disorder > 0 {
		t.Errorf("%d IDs twice, %d out of order, of %d", v.duplicates, v.disorder, v.ids)
	}
	if v.ids < atLeast {
		t.Errorf("%d IDs, fewer than %d: the run proves little", v.ids, atLeast)
	}
}

// The check itself sees what it is for.
func TestOverlapsAndDisorderAreSeen(t *testing.T) {
	for _, c := range []struct {
		name                 string
		a, b                 []history.Run
		duplicates, disorder int64
	}{
		{"apart", []history.Run{{First: 10, Count: 5}, {First: 20, Count: 5}}, []history.Run{{First: 15, Count: 5}}, 0, 0},
		{"one ID", []history.Run{{First: 10, Count: 5}}, []history.Run{{First: 14, Count: 5}}, 1, 0},
		{"inside", []history.Run{{First: 10, Count: 50}}, []history.Run{{First: 20, Count: 5}, {First: 30, Count: 5}}, 10, 0},
		{"twice by one", []history.Run{{First: 10, Count: 5}, {First: 10, Count: 5}}, nil, 5, 1},
		{"descending", []history.Run{{First: 10, Count: 5}, {First: 5, Count: 5}}, nil, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v verdict
			v.overlaps(append(v.gather("a", c.a), v.gather("b", c.b)...))
			if v.duplicates != c.duplicates || v.disorder != c.disorder {
				t.Errorf("%+v", v)
			}
		})
	}
}
