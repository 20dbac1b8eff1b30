//go:build unix

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A hand takes handSize IDs every handEvery: a modest pace, so that many of them
// and the agents share a small machine.
const (
	handSize  = 10
	handEvery = 10 * time.Millisecond
)

// hand takes IDs from one handle all the time.
type hand struct {
	holder string
	*sequencer.Sequencer
	node   sequencer.NodeID // in the beginning
	before uint64           // GrantWaits when they are counted from
}

// crew is the clients of this process, whose IDs are all checked.
type crew struct {
	t       *testing.T
	checker *checker
	ctx     context.Context
	stop    func()
	running sync.WaitGroup
	clients []*client.Client
	hands   []*hand
	longest atomic.Int64 // longest call of Next, ns
}

// newCrew returns clients with a hand for each of the names each.
func newCrew(t *testing.T, checker *checker, addrs []string, clients, names int) *crew {
	t.Helper()
	c := &crew{t: t, checker: checker}
	c.ctx, c.stop = context.WithCancel(t.Context())
	t.Cleanup(c.end)
	for i := range clients {
		one, err := client.Dial(c.within(), clientConfig(addrs...))
		if err != nil {
			t.Fatal(err)
		}
		c.clients = append(c.clients, one)
		for n := range names {
			c.hire(i, "name-"+strconv.Itoa(n))
		}
	}
	return c
}

// within returns a context for something that should happen soon.
func (c *crew) within() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// hire adds a hand to a client.
func (c *crew) hire(i int, name string) *hand {
	c.t.Helper()
	s, err := c.clients[i].CreateSequencer(c.within(), name, sequencer.Config{})
	if err != nil {
		c.t.Fatal(err)
	}
	h := &hand{holder: "client " + strconv.Itoa(i), Sequencer: s}
	h.node, _ = s.LogicalNode()
	c.hands = append(c.hands, h)
	c.running.Go(func() { c.work(h) })
	return h
}

// work takes IDs until the crew ends.
func (c *crew) work(h *hand) {
	stream := &checkedStream{holder: h.holder, definition: h.Definition()}
	ids := make([]sequencer.ID, 0, handSize)
	rest := time.NewTicker(handEvery)
	defer rest.Stop()
	for c.ctx.Err() == nil {
		ids = ids[:0]
		var err error
		for range handSize {
			var id sequencer.ID
			before := time.Now()
			if id, err = h.Next(c.ctx); err != nil {
				break
			}
			c.waited(time.Since(before))
			ids = append(ids, id)
		}
		c.checker.observe(stream, ids)
		if err != nil && c.ctx.Err() == nil {
			c.t.Errorf("%s of %s: Next failed: %v", h.Name(), h.holder, err)
			return
		}
		select {
		case <-rest.C:
		case <-c.ctx.Done():
		}
	}
}

func (c *crew) waited(d time.Duration) {
	for old := c.longest.Load(); int64(d) > old && !c.longest.CompareAndSwap(old, int64(d)); old = c.longest.Load() {
	}
}

// end ends the crew without giving anything back.
func (c *crew) end() {
	c.stop()
	c.running.Wait()
	for _, one := range c.clients {
		_ = one.Close()
	}
}

// calm checks that every hand still has its first logical node and has never waited
// for a grant.
func (c *crew) calm(when string) {
	c.t.Helper()
	for _, h := range c.hands {
		st := h.Stats()
		if waits := st.GrantWaits - h.before; waits > 0 || st.WaitingNow > 0 {
			c.t.Errorf("%s: %s of %s waited %d times, %v at the longest; %d wait now", when, h.Name(), h.holder, waits,
				st.LongestGrantWait, st.WaitingNow)
		}
		if node, attached := h.LogicalNode(); !attached || node != h.node {
			c.t.Errorf("%s: %s of %s is %v at logical node %d, was at %d", when, h.Name(), h.holder, h.State(), node, h.node)
		}
	}
}

// unique wants no ID to have come twice.
func (c *crew) unique() {
	c.t.Helper()
	v := c.checker.verdict()
	if !v.clean() || v.ids == 0 {
		c.t.Errorf("of %d IDs %d came twice and %d out of order: %q", v.ids, v.duplicates, v.disorder, v.findings)
	}
}

// count says how much the crew did.
func (c *crew) count() string {
	return fmt.Sprintf("%s IDs, longest Next %v", grouped(c.checker.verdict().ids),
		time.Duration(c.longest.Load()).Round(10*time.Microsecond))
}

// kept complains unless the tables have every hand where it began.
func (c *crew) kept(s grid.Status) string {
	for _, h := range c.hands {
		q, found := sequencerIn(s, h.Name())
		if !found || !slices.Contains(q.AttachedNodes, h.node) {
			return fmt.Sprintf("the table of %s lacks logical node %d of %s: %+v", h.Name(), h.node, h.holder, q)
		}
	}
	return ""
}

// stranger is a client that has never asked the grid before. It returns how long
// its first ID of a name took.
func (c *crew) stranger(addrs []string, name string) time.Duration {
	c.t.Helper()
	began := time.Now()
	one, err := client.Dial(c.within(), clientConfig(addrs...))
	if err != nil {
		c.t.Fatal(err)
	}
	defer one.Close()
	s, err := one.CreateSequencer(c.within(), name, sequencer.Config{})
	if err != nil {
		c.t.Fatal(err)
	}
	var ids [handSize]sequencer.ID
	if ids[0], err = s.Next(c.within()); err != nil {
		c.t.Fatal(err)
	}
	took := time.Since(began)
	n, err := s.Fill(c.within(), ids[1:])
	if err != nil {
		c.t.Fatal(err)
	}
	c.checker.observe(&checkedStream{holder: "stranger", definition: s.Definition()}, ids[:n+1])
	if err := one.Leave(c.within()); err != nil {
		c.t.Errorf("a new client gives its logical node back: %v", err)
	}
	return took
}

// middle returns the median and the largest of some durations.
func middle(all []time.Duration) (median, most time.Duration) {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond)
}
