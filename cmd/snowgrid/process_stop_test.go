//go:build unix

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

var stopped = flag.Duration("stop", 0, "how long TestStoppedOwner stops an owner, at least; 0 is 20s with -long")

const (
	backMost  = 15 * time.Second // until a resumed member is ready
	reachMin  = 9 * time.Second  // every grant reaches so far ahead
	reachMost = 20 * time.Second // no grant reaches farther ahead
)

// TestStoppedOwner stops an owner with SIGSTOP until it is replaced, and resumes it. To
// the owner no time has passed.
func TestStoppedOwner(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	g := startSeats(t, 3, "--backups", "1")
	c := newCrew(t, newChecker(), g.apisBut(), 3, 5)
	s := g.status()
	at := g.owner(s, c.hands[0].Name())
	own := func(kind string) string {
		for i := 0; ; i++ {
			if name := kind + "-" + strconv.Itoa(i); g.owner(s, name) == at {
				return name
			}
		}
	}
	doomed, made := own("doomed"), own("made")
	if _, err := c.clients[0].CreateSequencer(c.within(), doomed, sequencer.Config{}); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	at.signal(syscall.SIGSTOP)
	defer at.signal(syscall.SIGCONT)
	took := c.stranger(g.apisBut(), c.hands[0].Name())
	others := g.apisBut(at)
	deposed := awaitStatus(t, others[0], func(s grid.Status) string {
		if slices.ContainsFunc(s.Partitions, func(p grid.PartitionInfo) bool { return g.at(s, p.Owner) == at }) {
			return "the stopped member owns partitions"
		}
		return ""
	})
	if err := c.clients[1].DestroySequencer(c.within(), doomed); err != nil {
		t.Fatal(err)
	}
	c.hire(2, made)
	c.hire(1, made)
	<-time.After(time.Until(began.Add(cmp.Or(*stopped, long.Or(0, 20*time.Second)))))
	took, stood := took.Round(time.Millisecond), time.Since(began).Round(time.Second)
	c.calm("while an owner is stopped")

	began = time.Now()
	at.signal(syscall.SIGCONT)
	asked := c.askFirst(at.api, doomed, made)
	awaitStatus(t, others[0], g.full(2))
	g.awaitReady(at)
	back := time.Since(began)
	for _, api := range g.apisBut() {
		s := awaitStatus(t, api, c.kept)
		if _, found := sequencerIn(s, doomed); found {
			t.Errorf("asked at %s, the grid has a name that was destroyed", api)
		}
		if q, _ := sequencerIn(s, made); q.Attached != 2 {
			t.Errorf("asked at %s, a name that was made is %+v", api, q)
		}
	}
	c.calm("at the end")
	c.end()
	c.unique()
	t.Logf("stopped for %v: a new client's first ID meanwhile came after %v; roster version %d when it was deposed", stood,
		took, deposed.Version)
	t.Logf(
		"resumed: a client that knows only this member got an ID of a new name after %v; ready and in sync after %v; %s",
		asked.Round(time.Millisecond), back.Round(time.Millisecond), c.count())
	if *judge && back > backMost {
		t.Errorf("ready and in sync after %v, want %v at most", back, backMost)
	}
}

// askFirst asks a resumed member immediately, before any other, for a name that was
// destroyed meanwhile and for one that was created. It returns the time to an ID of the
// latter.
func (c *crew) askFirst(api, doomed, made string) time.Duration {
	c.t.Helper()
	began := time.Now()
	one, err := client.Dial(c.within(), clientConfig(api))
	if err != nil {
		c.t.Fatal(err)
	}
	defer one.Close()
	if _, err := one.OpenSequencer(c.within(), doomed); !errors.Is(err, sequencer.ErrNotFound) {
		c.t.Errorf("a name that was destroyed: error %v, want not found", err)
	}
	s, err := one.OpenSequencer(c.within(), made)
	if err != nil {
		c.t.Errorf("a name that was made: %v", err)
		return 0
	}
	if err := s.AttachLogicalNode(c.within()); err != nil {
		c.t.Fatal(err)
	}
	id, err := s.Next(c.within())
	if err != nil {
		c.t.Fatal(err)
	}
	c.checker.observe(&checkedStream{holder: "first asker", definition: s.Definition()}, []sequencer.ID{id})
	took := time.Since(began)
	if err := one.Leave(c.within()); err != nil {
		c.t.Error(err)
	}
	return took
}

// TestStoppedQuorum stops all agents of a grid but the owner of a name, and with -long all of
// another grid. The quorum is lost, and holders continue with their grants.
func TestStoppedQuorum(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	t.Run("all but one", func(t *testing.T) { t.Parallel(); testStoppedQuorum(t, true) })
	if long.Enabled() {
		t.Run("all", func(t *testing.T) { t.Parallel(); testStoppedQuorum(t, false) })
	}
}

func testStoppedQuorum(t *testing.T, butOwner bool) {
	g := startSeats(t, 3, "--backups", "1")
	c := newCrew(t, newChecker(), g.apisBut(), 2, 5)
	owner := g.owner(g.status(), c.hands[0].Name())
	c.calm("before")
	began := time.Now()
	for _, s := range g.all {
		if !butOwner || s != owner {
			s.signal(syscall.SIGSTOP)
			defer s.signal(syscall.SIGCONT)
		}
	}
	waiting := ""
	for waiting == "" && time.Since(began) < reachMost {
		waiting = c.whoWaits()
		pause()
	}
	reach := time.Since(began)
	t.Logf("the first that waited did so after %v: %s", reach.Round(10*time.Millisecond), waiting)
	if waiting == "" || *judge && reach < reachMin {
		t.Errorf("it waits after %v, want %v to %v", reach, reachMin, reachMost)
	}
	began = time.Now()
	for _, s := range g.all {
		s.signal(syscall.SIGCONT)
	}
	await(t, "all continue", func() bool { return c.whoWaits() == "" })
	t.Logf("%v after the others were resumed no hand waited", time.Since(began).Round(10*time.Millisecond))
	awaitStatus(t, owner.api, g.full(2))
	awaitStatus(t, owner.api, c.kept)
	for _, h := range c.hands {
		h.before = h.Stats().GrantWaits
	}
	c.calm("at the end")
	c.end()
	c.unique()
	t.Log(c.count())
}

// whoWaits returns a hand that waits, "" if none does.
func (c *crew) whoWaits() string {
	for _, h := range c.hands {
		if h.Stats().WaitingNow > 0 {
			return fmt.Sprintf("%s of %s", h.Name(), h.holder)
		}
	}
	return ""
}
