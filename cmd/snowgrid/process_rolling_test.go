//go:build unix

package main

import (
	"flag"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// All five agents, and every one of them both ways, take two minutes:
//
//	go test ./cmd/snowgrid -run TestRollingRestart -rolls 5
var rolls = flag.Int("rolls", 1, "how many agents TestRollingRestart restarts in each way; 5 are all")

// TestRollingRestart has a grid of three grow to five, then restarts its agents
// one after the other, the next one as soon as /readyz of the last one says so:
// first in order, then by a kill. No holder waits, and no table is lost.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	g := startSeats(t, 3, "--backups", "1")
	c := newCrew(t, newChecker(), g.apisBut(), 3, 5)
	lost := lostTerms(g.status())
	var grown []time.Duration
	for range 2 {
		s := g.add()
		began := time.Now()
		g.start(s)
		g.awaitReady(s)
		grown = append(grown, time.Since(began).Round(time.Millisecond))
	}
	awaitStatus(t, g.all[0].api, g.full(2))
	c.calm("grown to five")
	t.Logf("members that were new were ready after %v", grown)

	for _, how := range []os.Signal{syscall.SIGTERM, os.Kill} {
		var ended, ready []time.Duration
		for i := range *rolls {
			s := g.all[(i+1)%len(g.all)]
			began := time.Now()
			s.signal(how)
			if status := s.exit(); status != exitDone && how == syscall.SIGTERM {
				t.Errorf("an agent told to leave ended with status %d; stderr:\n%s", status, tail(s.stderr.String()))
			}
			ended = append(ended, time.Since(began))
			began = time.Now()
			g.start(s)
			g.awaitReady(s)
			ready = append(ready, time.Since(began))
			c.calm("after " + how.String())
			if t.Failed() {
				return
			}
		}
		if *rolls > 0 {
			median, most := middle(ended)
			medianReady, mostReady := middle(ready)
			t.Logf("%v, %d agents: ended after %v (median), %v (most); started again, ready after %v (median), %v (most)",
				how, *rolls, median, most, medianReady, mostReady)
		}
	}
	began := time.Now()
	s := awaitStatus(t, g.all[0].api, g.full(2))
	t.Logf("all partitions had both replicas and a fair owner after another %v", time.Since(began).Round(time.Millisecond))
	awaitStatus(t, g.all[0].api, c.kept)
	for id, term := range lostTerms(s) {
		if term != lost[id] {
			t.Errorf("partition %d lost its table in term %d", id, term)
		}
	}
	c.calm("at the end")
	c.end()
	c.unique()
	t.Log(c.count())
}

// lostTerms returns for each partition the last term that began without a table.
func lostTerms(s grid.Status) (out []uint64) {
	for _, p := range s.Partitions {
		out = append(out, p.LostTerm)
	}
	return out
}
