package explore

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// nameNode is a state on the path.
type nameNode struct {
	world *nameWorld
	from  int
	step  string
}

// SearchNames tries every step that a scope of definitions allows, with the rule weak omitted. It
// ends at the first forbidden reply.
func SearchNames(s NameScope, weak NameWeakness, limits Limits) (Result, error) {
	begun := time.Now()
	l := newNameLab(s, weak)
	first, err := l.start()
	if err != nil {
		return Result{}, err
	}
	var known seen
	var result Result
	nodes := []nameNode{{world: first, from: -1}}
	known.add(l.sum(first))
	level := 1 // states up to here have the current distance
	for at := 0; at < len(nodes); at++ {
		if at == level {
			level = len(nodes)
		}
		if at%64 == 0 && (limits.States > 0 && len(nodes) >= limits.States || limits.Time > 0 &&
			time.Since(begun) > limits.Time) {
			break
		}
		result.Exhausted = at == len(nodes)-1
		w := nodes[at].world
		nodes[at].world = nil
		l.steps(w, func(next *nameWorld, format string, args ...any) {
			if result.Duplicate != "" || !known.add(l.sum(next)) {
				return
			}
			if s.Disks && next.wrong == "" {
				next.wrong = l.unknownOnDisk(next)
			}
			nodes = append(nodes, nameNode{next, at, fmt.Sprintf(format, args...)})
			result.Duplicate = next.wrong
			result.Exhausted = false
		})
		if result.Duplicate != "" {
			result.Trace = storyOf(nodes)
			break
		}
		result.Exhausted = at == len(nodes)-1
	}
	result.States, result.Took = len(nodes), time.Since(begun)
	result.Steps = len(storyOf(nodes)) - 1
	return result, nil
}

// storyOf describes the path to the last state.
func storyOf(nodes []nameNode) []string {
	last := len(nodes) - 1
	var lines []string
	for at := last; nodes[at].from >= 0; at = nodes[at].from {
		lines = append(lines, nodes[at].step)
	}
	slices.Reverse(lines)
	for i := range lines {
		lines[i] = fmt.Sprintf("%2d. %s", i+1, lines[i])
	}
	wrong := "no answer that must not be"
	if w := nodes[last].world; w != nil && w.wrong != "" {
		wrong = w.wrong
	}
	return append(lines, "=> "+wrong)
}

// sum returns a world's hash. Machines are encoded by [encoder].
func (l *nameLab) sum(w *nameWorld) sum {
	return sumOf(l.encoder.append(nil, reflect.ValueOf(w).Elem()))
}
