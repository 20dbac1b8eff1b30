package stores

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// patience bounds every wait for an event that should be soon.
const patience = 60 * time.Second

// records reads the records of a sequencer by node.
func (s *site) records(name string, slots int) map[int]record.Record {
	s.t.Helper()
	keys, under := record.KeysOf("", name), s.store()
	all := map[int]record.Record{}
	for n := range slots {
		e, err := under.Load(s.t.Context(), keys.Record(sequencer.NodeID(n)))
		if err != nil {
			s.t.Fatal(err)
		}
		r, err := record.Decode(e.Body, e.Meta)
		if err != nil {
			s.t.Fatalf("%s: %v", e.Key, err)
		}
		all[n] = r
	}
	return all
}

// waits returns how often a process reported that it found no free node.
func (h *holder) waits() (n int) {
	for _, line := range h.said() {
		if strings.HasPrefix(line, "waiting:") && strings.Contains(line, "node") {
			n++
		}
	}
	return n
}

// TestStarters: of 30 processes that start together on 10 slots, 10 get distinct nodes and
// 20 wait. When 3 of the holders are killed, exactly 3 of the waiting get their nodes, in
// the next version.
func TestStarters(t *testing.T) {
	const starters, slots, killed = 30, 10, 3
	over := engines[:1] // S3; the other modules have tests of this kind of their own
	if *long {
		over = engines
	}
	each(t, over, func(t *testing.T, s *site) {
		began := time.Now()
		var all []*holder
		for i := range starters {
			h := s.newHolder(fmt.Sprintf("starter%d", i), "-pool", fmt.Sprint(slots), "-window", "6s", "-create", "2s", "-every",
				"100ms", "-batch", "16")
			all = append(all, h)
			h.start()
		}
		// Each process either has a node, or has been told that there is none.
		for _, h := range all {
			h.await("node or answer", patience, func([]string) bool { return len(h.nodes()) > 0 || h.waits() > 0 })
		}
		holding, waiting := split(all)
		for deadline := time.Now().Add(patience); len(holding) < slots && time.Now().Before(deadline); {
			time.Sleep(100 * time.Millisecond) // any of the waiting may be next
			holding, waiting = split(all)
		}
		t.Logf("%v: %d hold", time.Since(began).Round(time.Millisecond), len(holding))
		nodes := map[int]*holder{}
		for _, h := range holding {
			for _, n := range h.nodes() {
				if other := nodes[n]; other != nil {
					t.Errorf("node %d has %s and %s", n, other.name, h.name)
				}
				nodes[n] = h
			}
		}
		if len(holding) != slots || len(waiting) != starters-slots || len(nodes) != slots ||
			slices.Max(slices.Collect(maps.Keys(nodes))) != slots-1 {
			t.Fatalf("%d hold, %d wait, nodes %v", len(holding), len(waiting), slices.Sorted(maps.Keys(nodes)))
		}
		before := s.records("default", slots)
		for n, h := range nodes {
			if r := before[n]; r.State != record.Held || r.Task != h.name || r.Version != 1 {
				t.Errorf("node %d of %s: %+v", n, h.name, r)
			}
		}

		free := map[int]bool{}
		for _, h := range holding[:killed] {
			h.kill()
			free[h.nodes()[0]] = true
		}
		var next []*holder
		for deadline := time.Now().Add(patience); len(next) < killed && time.Now().Before(deadline); {
			time.Sleep(100 * time.Millisecond) // any of the waiting may be next
			next, _ = split(waiting)
		}
		t.Logf("%v: %d of the waiting came up", time.Since(began).Round(time.Millisecond), len(next))
		// The others look again, twice, and find nothing.
		_, rest := split(waiting)
		seen := map[*holder]int{}
		for _, h := range rest {
			seen[h] = h.waits()
		}
		for _, h := range rest {
			h.await("further answer", patience, func([]string) bool { return h.waits() >= seen[h]+2 || len(h.nodes()) > 0 })
		}
		next, _ = split(waiting)
		if len(next) != killed {
			t.Errorf("%d came up for %d that were killed", len(next), killed)
		}
		after := s.records("default", slots)
		for _, h := range next {
			n := h.nodes()[0]
			if !free[n] || after[n].Task != h.name || after[n].Version != before[n].Version+1 || after[n].Graceful {
				t.Errorf("%s has node %d, of those of the killed %v: %+v", h.name, n, free, after[n])
			}
		}
		for n, r := range after {
			if !free[n] && (r.Version != before[n].Version || r.Task != before[n].Task) {
				t.Errorf("node %d changed hands: %+v, %+v", n, before[n], r)
			}
		}
		compare(all).judge(t, 1)
	})
}

// split returns the holders with a logical node and those without.
func split(all []*holder) (holding, waiting []*holder) {
	for _, h := range all {
		if len(h.nodes()) > 0 {
			holding = append(holding, h)
		} else {
			waiting = append(waiting, h)
		}
	}
	return holding, waiting
}
