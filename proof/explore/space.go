package explore

import (
	"fmt"
	"slices"
	"time"
)

// space is a set of states with the steps between them.
type space[W any] interface {
	start() W
	// steps passes every state one step away to emit, with the step in words. Values that a state
	// points to do not change after it was emitted.
	steps(w *W, emit emitter[W])
	// append appends bytes that are equal for two states exactly if they behave the same from then
	// on.
	append(b []byte, w *W) []byte
	// wrong returns the rule that a state breaks, "" if none.
	wrong(w *W) string
}

type emitter[W any] func(next *W, format string, args ...any)

// breadth is a breadth-first search in a space, so the first path to a state is a shortest one.
type breadth[W any] struct {
	space  space[W]
	seen   seen
	from   []uint32 // by state: the previous one
	next   []W      // the states at the next distance
	nextAt []uint32 // their numbers
	buffer []byte
	result Result
}

// searchSpace visits every state in a space and ends at the first forbidden one.
func searchSpace[W any](s space[W], limits Limits) Result {
	begun := time.Now()
	x := &breadth[W]{space: s}
	first := s.start()
	x.visit(&first, 0)
	for len(x.next) > 0 && x.result.Duplicate == "" {
		level, at := x.next, x.nextAt
		x.next, x.nextAt = nil, nil
		x.result.Steps++
		if !x.expand(level, at, limits, begun) {
			break
		}
	}
	x.result.Exhausted = x.result.Duplicate == "" && len(x.next) == 0
	x.result.States, x.result.Took = len(x.from), time.Since(begun)
	return x.result
}

// expand visits every state one step away from the states at one distance. It reports whether all
// were visited and nothing was wrong.
func (x *breadth[W]) expand(level []W, at []uint32, limits Limits, begun time.Time) bool {
	for i := range level {
		if limits.States > 0 && len(x.from) >= limits.States || limits.Time > 0 && i%64 == 0 &&
			time.Since(begun) > limits.Time {
			x.next = append(x.next, level[i]) // so it is not exhausted
			return false
		}
		x.space.steps(&level[i], func(next *W, _ string, _ ...any) {
			if x.result.Duplicate == "" && x.visit(next, at[i]) {
				x.result.Duplicate = x.space.wrong(next)
			}
		})
		if x.result.Duplicate != "" {
			x.result.Trace = x.story()
			return false
		}
		var none W
		level[i] = none // releases values that only it refers to
	}
	return true
}

// visit records a new state.
func (x *breadth[W]) visit(w *W, from uint32) (fresh bool) {
	x.buffer = x.space.append(x.buffer[:0], w)
	if !x.seen.add(sumOf(x.buffer)) {
		return false
	}
	x.next = append(x.next, *w)
	x.nextAt = append(x.nextAt, uint32(len(x.from)))
	x.from = append(x.from, from)
	return true
}

// story describes the path to the last state by repeating it.
func (x *breadth[W]) story() []string {
	var way []uint32
	for at := uint32(len(x.from) - 1); at != 0; at = x.from[at] {
		way = append(way, at)
	}
	slices.Reverse(way)
	w := x.space.start()
	lines := make([]string, 0, len(way)+1)
	for i, at := range way {
		var next W
		found := false
		x.space.steps(&w, func(n *W, format string, args ...any) {
			if !found && sumOf(x.space.append(nil, n)) == x.seen.sums[at] {
				next, found = *n, true
				lines = append(lines, fmt.Sprintf("%2d. %s", i+1, fmt.Sprintf(format, args...)))
			}
		})
		if !found {
			panic("explore: a way cannot be walked again")
		}
		w = next
	}
	return append(lines, "=> "+x.space.wrong(&w))
}
