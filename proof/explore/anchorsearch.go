package explore

import (
	"fmt"
	"slices"
	"time"
)

// SearchAnchor tries every step that a scope of anchored grids allows, with the rule weak omitted.
// It ends at the first tick that two generations may grant.
func SearchAnchor(s AnchorScope, weak AnchorWeakness, limits Limits) Result {
	begun := time.Now()
	x := &anchorSearch{lab: anchorLab{scope: s, weak: weak}}
	x.lab.emit = x.visit
	first := *x.lab.start()
	x.visit(&first, "")
	for x.advance(); len(x.level) > 0; x.advance() {
		x.result.Steps++
		for i := range x.level {
			x.at = x.first + uint32(i)
			x.lab.steps(&x.level[i])
			if x.result.Duplicate != "" || limits.States > 0 && len(x.from) >= limits.States || limits.Time > 0 && i%1024 == 0 &&
				time.Since(begun) > limits.Time {
				x.result.States, x.result.Took = len(x.from), time.Since(begun)
				if x.result.Duplicate != "" {
					x.result.Trace = x.story()
				}
				return x.result
			}
		}
	}
	x.result.Exhausted = true
	x.result.States, x.result.Took = len(x.from), time.Since(begun)
	return x.result
}

// anchorSearch is a breadth-first search.
type anchorSearch struct {
	lab    anchorLab
	known  seen
	from   []uint32 // by state: the previous state
	level  []anchorWorld
	first  uint32 // the number of the level's first state
	at     uint32 // the number of the state being expanded
	next   []anchorWorld
	buffer []byte
	result Result
}

func (x *anchorSearch) advance() {
	x.level, x.next = x.next, nil
	x.first = uint32(len(x.from) - len(x.level))
}

// visit records a new state.
func (x *anchorSearch) visit(w *anchorWorld, _ string, _ ...any) {
	if x.result.Duplicate != "" {
		return
	}
	w.forget(x.lab.scope)
	x.buffer = w.append(x.buffer[:0])
	if !x.known.add(sumOf(x.buffer)) {
		return
	}
	x.from = append(x.from, x.at)
	x.next = append(x.next, *w)
	x.result.Duplicate = w.twice()
}

// story repeats the path to the last state, and describes its steps.
func (x *anchorSearch) story() []string {
	way := []uint32{uint32(len(x.from) - 1)}
	for way[0] > 0 {
		way = slices.Insert(way, 0, x.from[way[0]])
	}
	lines := []string{}
	lab := x.lab
	now := *lab.start()
	now.forget(lab.scope)
	for _, number := range way[1:] {
		found := false
		before := now
		lab.emit = func(w *anchorWorld, format string, args ...any) {
			w.forget(lab.scope)
			if !found && sumOf(w.append(nil)) == x.known.sums[number] {
				found, now = true, *w
				lines = append(lines, fmt.Sprintf("%2d. ", len(lines)+1)+fmt.Sprintf(format, args...))
			}
		}
		lab.steps(&before)
	}
	return append(lines, "=> "+x.result.Duplicate)
}
