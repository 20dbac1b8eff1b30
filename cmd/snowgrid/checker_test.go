package main

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// build returns IDs of a sequencer of 8192 nodes; each step is {ms after the
// start, node, counter}.
func build(t *testing.T, d sequencer.Definition, steps ...[3]int) (ids []sequencer.ID) {
	t.Helper()
	start := time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range steps {
		id, err := d.Compose(sequencer.Parts{
			Time:    start.Add(time.Duration(step[0]) * time.Millisecond),
			Node:    sequencer.NodeID(step[1]),
			Counter: uint32(step[2]),
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func define(t *testing.T, name string) sequencer.Definition {
	t.Helper()
	d, err := sequencer.Define(name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChecker(t *testing.T) {
	type step = [3]int
	tests := []struct {
		name                 string
		one, two             []step // the IDs of two streams of one sequencer
		duplicates, disorder uint64
	}{
		{name: "nothing"},
		{name: "one stream", one: []step{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}}},
		{name: "two nodes", one: []step{{0, 1, 0}, {1, 1, 0}}, two: []step{{0, 2, 0}, {1, 2, 0}}},
		{name: "one node, one after the other", one: []step{{0, 1, 0}, {1, 1, 0}}, two: []step{{2, 1, 0}}},
		{name: "one node, between", one: []step{{0, 1, 0}, {9, 1, 0}}, two: []step{{5, 1, 0}}},
		{name: "a stream changes its node and comes back", one: []step{{0, 1, 0}, {1, 2, 0}, {2, 1, 0}}},
		{name: "far apart in time", one: []step{{0, 1, 0}, {claimsBits, 1, 0}, {3 * claimsBits, 1, 0}}},
		{name: "far apart in time, equal in the stretch", one: []step{{7, 1, 0}}, two: []step{{7 + claimsBits, 1, 0}}},

		{name: "the same ID twice in a stream", one: []step{{0, 1, 0}, {0, 1, 0}}, duplicates: 1, disorder: 1},
		{name: "an old ID again", one: []step{{0, 1, 0}, {5, 1, 0}, {0, 1, 0}}, duplicates: 1, disorder: 1},
		{name: "descending in a millisecond", one: []step{{0, 1, 2}, {0, 1, 1}}, duplicates: 1, disorder: 1},
		{name: "the same ID in two streams", one: []step{{0, 1, 0}}, two: []step{{0, 1, 0}}, duplicates: 1},
		{name: "all IDs in two streams", one: []step{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}},
			two: []step{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}}, duplicates: 3},
		{name: "one millisecond of a node in two streams", one: []step{{0, 1, 0}}, two: []step{{0, 1, 1}}, duplicates: 1},
		{name: "long after", one: []step{{0, 1, 0}, {1e9, 1, 0}}, two: []step{{0, 1, 0}}, duplicates: 1},
		{name: "continues after a duplicate", one: []step{{0, 1, 0}}, two: []step{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}},
			duplicates: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, d := newChecker(), define(t, "orders")
			c.observe(&checkedStream{holder: "one", definition: d}, build(t, d, test.one...))
			c.observe(&checkedStream{holder: "two", definition: d}, build(t, d, test.two...))
			v := c.verdict()
			if want := uint64(len(test.one) + len(test.two)); v.ids != want {
				t.Errorf("ids = %d, want %d", v.ids, want)
			}
			if v.duplicates != test.duplicates || v.disorder != test.disorder {
				t.Errorf("%d duplicates and %d out of order, want %d and %d", v.duplicates, v.disorder, test.duplicates,
					test.disorder)
			}
			if bad := test.duplicates+test.disorder > 0; v.clean() == bad || (len(v.findings) > 0) != bad {
				t.Errorf("clean = %v, findings = %q", v.clean(), v.findings)
			}
		})
	}
}

func TestCheckerKeepsSequencersApart(t *testing.T) {
	c := newChecker()
	for _, name := range []string{"orders", "invoices"} {
		d := define(t, name)
		c.observe(&checkedStream{definition: d}, build(t, d, [3]int{0, 1, 0}))
	}
	if v := c.verdict(); !v.clean() {
		t.Errorf("equal IDs of different sequencers are reported: %q", v.findings)
	}
}

func TestCheckerBoundsItsFindings(t *testing.T) {
	c, d := newChecker(), define(t, "orders")
	s := &checkedStream{definition: d}
	for range 1000 {
		c.observe(s, build(t, d, [3]int{0, 1, 0}))
	}
	if v := c.verdict(); v.duplicates != 999 || len(v.findings) != findingsMax {
		t.Errorf("%d duplicates and %d findings, want 999 and %d", v.duplicates, len(v.findings), findingsMax)
	}
}

func BenchmarkChecker(b *testing.B) {
	d, err := sequencer.Define("orders", sequencer.Config{})
	if err != nil {
		b.Fatal(err)
	}
	c, s := newChecker(), &checkedStream{definition: d}
	ids := make([]sequencer.ID, 1)
	next := d.MinID(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	for b.Loop() {
		ids[0] = next
		c.observe(s, ids)
		next++
	}
}
