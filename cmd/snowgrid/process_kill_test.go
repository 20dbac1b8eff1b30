//go:build unix

package main

import (
	"flag"
	"github.com/snowgrid/snowgrid/internal/long"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// An ordinary run kills a few times; so many kills take minutes:
//
//	go test ./cmd/snowgrid -run 'TestAgentKilled|TestAllAgentsKilled' -kills 20 -outages 20 -window 15s -judge
var (
	judge = flag.Bool("judge", false,
		"fail when something takes longer than it should on a machine that does nothing else")
	kills        = flag.Int("kills", 1, "how often each case of TestAgentKilled kills an agent")
	outages      = flag.Int("outages", 2, "how often TestAllAgentsKilled kills all agents")
	outageWindow = flag.Duration("window", 3*time.Second, "window of the grid of TestAllAgentsKilled")
)

// Limits of the time to the first ID of a new client after a kill.
const (
	attachMedian = 3 * time.Second
	attachMost   = 6 * time.Second
)

// victim selects the member to kill, and the owner that a new client needs then.
type victim struct {
	name        string
	leads, owns bool
}

var victims = []victim{
	{"an owner that follows", false, true},
	{"the leader, of a name that another owns", true, false},
	{"the leader, of a name that it owns", true, true},
}

// choose returns the seat of the victim, and a name that it owns or does not. Some
// hand holds the name.
func (v victim) choose(g *seats, c *crew, fresh func() string) (*seat, string) {
	s := g.status()
	leader := g.at(s, s.Leader)
	fits := func(name string) (*seat, bool) {
		owner := g.owner(s, name)
		if v.leads {
			return leader, v.owns == (owner == leader)
		}
		return owner, owner != leader
	}
	for _, h := range c.hands {
		if at, ok := fits(h.Name()); ok {
			return at, h.Name()
		}
	}
	for {
		name := fresh()
		if at, ok := fits(name); ok {
			c.hire(0, name)
			return at, name
		}
	}
}

// TestAgentKilled kills agents one after the other and starts them again. Holders never
// wait, and a new client is served within seconds.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	g := startSeats(t, 3, "--backups", "1")
	c := newCrew(t, newChecker(), g.apisBut(), 3, 5)
	names := 0
	fresh := func() string { names++; return "more-" + strconv.Itoa(names) }
	took := map[string][]time.Duration{}
	var back []time.Duration
	for range *kills {
		for _, v := range victims {
			at, name := v.choose(g, c, fresh)
			at.kill()
			took[v.name] = append(took[v.name], c.stranger(g.apisBut(), name))
			began := time.Now()
			g.start(at)
			g.awaitReady(at)
			back = append(back, time.Since(began))
			c.calm("after " + v.name + " was killed")
			if t.Failed() {
				return
			}
		}
	}
	awaitStatus(t, g.all[0].api, g.full(2))
	awaitStatus(t, g.all[0].api, c.kept)
	c.calm("at the end")
	c.end()
	c.unique()
	for _, v := range victims {
		median, most := middle(took[v.name])
		t.Logf("%s: %d killed; the first ID of a new client came after %v (median), %v (most)", v.name, len(took[v.name]),
			median, most)
		if *judge && (median > attachMedian || most > attachMost) {
			t.Errorf("want %v and %v at most; all: %v", attachMedian, attachMost, took[v.name])
		}
	}
	median, most := middle(back)
	t.Logf("started again, an agent was ready after %v (median), %v (most); %s", median, most, c.count())
}

// TestAllAgentsKilled kills all agents at the same time, at a random moment, and starts
// them at other addresses. They form the same grid and repeat no ID: neither an ID issued
// before, nor one that an earlier holder, which no longer finds a member, still issues.
func TestAllAgentsKilled(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	g := startSeats(t, 3, "--window", outageWindow.String())
	before := g.status()
	checker := newChecker()
	var took []time.Duration
	var old *crew
	for range *outages {
		c := newCrew(t, checker, g.apisBut(), 3, 5)
		<-time.After(rand.N(*outageWindow / 2))
		for _, s := range g.all {
			s.signal(os.Kill)
		}
		for _, s := range g.all {
			_ = s.exit()
			s.move(t)
		}
		began := time.Now()
		g.startAll()
		_ = c.stranger(g.apisBut(), "name-0")
		took = append(took, time.Since(began))
		if old != nil {
			old.end()
		}
		old = c
		s := awaitStatus(t, g.all[0].api, membersAre(g.agents()...))
		if s.Grid != before.Grid {
			t.Fatalf("it was grid %s and is %s", before.Grid, s.Grid)
		}
	}
	awaitStatus(t, g.all[0].api, g.full(2))
	old.end()
	old.unique()
	median, most := middle(took)
	t.Logf("%d times all killed; the first ID came after %v (median), %v (most); %s", len(took), median, most, old.count())
	if limit := *outageWindow + 5*time.Second; *judge && most > limit {
		t.Errorf("want %v at most; all: %v", limit, took)
	}
}
