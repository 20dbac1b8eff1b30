package grants

import (
	"fmt"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// ends is the first timestamp beyond the layout.
const ends = 6

// tick is one timestamp of one node.
type tick struct{ node, at int64 }

// world is one generator, with all that its owner has granted and all that it has made.
type world struct {
	g       Generator
	at      int64    // its monotonic clock; the grid's time is the same or later
	next    [2]int64 // the grants of each node end before this timestamp
	granted map[tick]bool
	made    []int64 // in their order
	ended   bool
	path    []string
}

func (w *world) clone() *world {
	out := *w
	out.g.spans, out.g.times = slices.Clone(w.g.spans), slices.Clone(w.g.times)
	out.granted = make(map[tick]bool, len(w.granted)+4)
	for t := range w.granted {
		out.granted[t] = true
	}
	out.made, out.path = slices.Clone(w.made), slices.Clone(w.path)
	return &out
}

// reply is a reply about a node with two timestamps, after a gap, at a time of the grid.
func (w *world) reply(node, gap, ahead int64) {
	r := Reply{Grant: "g1.1", Node: node, TimeShift: 2, NodeShift: 1, Counters: 2, From: w.next[node] + gap,
		Until: w.next[node] + gap + 2, Now: w.at + ahead, RenewIn: 1, Ends: ends}
	for t := r.From; t < r.Until; t++ {
		w.granted[tick{node, t}] = true
	}
	w.next[node] = r.Until
	w.g.Request(w.at)
	w.g.Replied(w.at, r)
}

// use makes IDs until there is none, and checks them.
func (w *world) use() error {
	for {
		id, _, err := w.g.Next(w.at)
		if err != nil || id == 0 {
			return nil
		}
		t := tick{id >> 1 & 1, id >> 2}
		last := int64(-1)
		if n := len(w.made); n > 0 {
			last = w.made[n-1]
		}
		switch {
		case w.ended:
			return fmt.Errorf("ID %d is made after the release", id)
		case !w.granted[t] || t.at >= ends:
			return fmt.Errorf("ID %d is of node %d at %d, which was not granted", id, t.node, t.at)
		case id <= last:
			return fmt.Errorf("ID %d is made after %d", id, last)
		}
		w.made = append(w.made, id)
	}
}

// events are all kinds of events. An event that is impossible now returns false.
var events = []struct {
	name string
	run  func(w *world) bool
}{
	{"a millisecond passes", func(w *world) bool { w.at++; return true }},
	{"the grant is extended", func(w *world) bool { w.reply(0, 0, 0); return true }},
	{"the grant is extended after a gap", func(w *world) bool { w.reply(0, 1, 0); return true }},
	{"another node is granted", func(w *world) bool { w.reply(1, 0, 0); return true }},
	{"another node is granted, and the grid's time is later", func(w *world) bool { w.reply(1, 1, 3); return true }},
	{"an empty grant", func(w *world) bool {
		w.g.Request(w.at)
		w.g.Replied(w.at, Reply{Grant: "g1.1", TimeShift: 2, NodeShift: 1, Counters: 2, From: w.next[0],
			Until: w.next[0], Now: w.at, Ends: ends})
		return true
	}},
	{"an older reply about the node", func(w *world) bool {
		w.g.Request(w.at)
		w.g.Replied(w.at, Reply{Grant: "g1.1", TimeShift: 2, NodeShift: 1, Counters: 2, From: 1, Until: 1, Now: w.at,
			Ends: ends})
		return true
	}},
	{"it was released elsewhere", func(w *world) bool {
		w.g.Request(w.at)
		w.g.Refused(w.at, Refusal{Code: "detached"})
		clear(w.granted)
		return true
	}},
	{"a fork", func(w *world) bool {
		w.g.Forked()
		clear(w.granted)
		return true
	}},
	{"a release", func(w *world) bool {
		w.g.Release()
		first := !w.ended
		w.ended = true
		return first
	}},
}

// explore tries every order of so many further events, and returns the first fault.
func (w *world) explore(depth int) error {
	if depth == 0 {
		return nil
	}
	for _, e := range events {
		next := w.clone()
		if !e.run(next) {
			continue
		}
		next.path = append(next.path, e.name)
		for _, uses := range []bool{true, false} { // or is not asked for an ID
			after := next
			if uses {
				after = next.clone()
				if err := after.use(); err != nil {
					return fmt.Errorf("%q: %w: %v", after.path, err, &after.g)
				}
				if len(after.made) == len(next.made) {
					continue
				}
			}
			if err := after.explore(depth - 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestEveryOrder: in every order of a few events, a generator makes only IDs that were granted to it, each
// above the one before.
func TestEveryOrder(t *testing.T) {
	w := world{g: *New(func(int64) int64 { return 0 }), next: [2]int64{1, 1}, granted: map[tick]bool{}}
	if err := w.explore(long.Or(5, 7)); err != nil {
		t.Error(err)
	}
}
