package gridtest_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// churnMax is how long an attach may take while partitions move.
const churnMax = 500 * time.Millisecond

// churn is clients that attach and detach without end.
type churn struct {
	c       *crowd
	done    sync.WaitGroup
	mu      sync.Mutex // guards what follows
	rounds  int
	longest time.Duration
	ended   bool
}

// churn has clients attach and detach until it is stopped; none of it may fail.
func (c *crowd) churn(clients int) *churn {
	ch := &churn{c: c}
	c.t.Cleanup(func() { ch.stop() })
	for i := range clients {
		host := fmt.Sprint("churn-", i)
		from := c.g.Client(host)
		s := create(c.t, from, c.names[i%len(c.names)], 0)
		ch.done.Go(func() { ch.run(host, s) })
	}
	return ch
}

func (ch *churn) run(host string, s *sequencer.Sequencer) {
	caller := ch.c.ids.caller(host)
	for {
		time.Sleep(50 * time.Millisecond)
		err := s.DetachLogicalNode(within(ch.c.t, 10*time.Second))
		began := time.Now()
		if err == nil {
			err = s.AttachLogicalNode(within(ch.c.t, 10*time.Second))
		}
		took := time.Since(began)
		if err == nil {
			_, err = caller.next(within(ch.c.t, 10*time.Second), s)
		}
		ch.mu.Lock()
		ch.rounds, ch.longest = ch.rounds+1, max(ch.longest, took)
		ended := ch.ended
		ch.mu.Unlock()
		if err != nil {
			ch.c.t.Errorf("%s: %v", host, err)
		}
		if ended || err != nil {
			return
		}
	}
}

// stop ends it and returns how often it went round, and the longest attach.
func (ch *churn) stop() (rounds int, longest time.Duration) {
	ch.mu.Lock()
	ch.ended = true
	ch.mu.Unlock()
	ch.done.Wait()
	return ch.rounds, ch.longest
}

// TestRollingRestart: each of five members is ended and started again, the next
// when the last one is ready; no holder notices, and nothing is forgotten.
func TestRollingRestart(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, how := range []string{"leave", "crash"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, 5, nil).use(3, several(6)...)
				began := time.Now()
				for _, name := range c.g.Running() {
					c.gone(name)
					if how == "leave" {
						c.g.Leave(name)
					} else {
						c.g.Crash(name)
					}
					c.g.StartMembers(name)
					eventually(t, time.Minute, name+" is ready", c.g.Member(name).Ready)
					c.calm("after the restart of " + name)
					c.kept("after the restart of " + name)
					c.attach(name, c.g.Member(name))
				}
				took := time.Since(began)
				full := awaitFull(t, c.g, 30*time.Second)
				time.Sleep(16 * time.Second) // a forgotten holder waits by now
				c.load.stop()
				c.calm("at the end")
				c.kept("at the end")
				c.notLost()
				t.Logf("five restarts in %v, full %v later; %d IDs", took, full, c.ids.count())
			})
		})
	}
}

// notLost fails the test if any partition was ever lost.
func (c *crowd) notLost() {
	c.t.Helper()
	s := c.g.Member(c.g.Running()[0]).Status()
	for _, p := range s.Partitions {
		if p.LostTerm != s.Partitions[0].LostTerm || p.LostTerm == p.Term && p.Term != s.Partitions[0].LostTerm {
			c.t.Errorf("partition %d was lost in term %d, partition 0 in %d", p.ID, p.LostTerm, s.Partitions[0].LostTerm)
		}
	}
}

// TestGrowAndShrink: a grid of three grows to nine and shrinks to three under load.
func TestGrowAndShrink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3, nil).use(3, several(6)...)
		c.g.Network.SetDelay(time.Millisecond)
		ch := c.churn(3)
		joiners := []string{"m4", "m5", "m6", "m7", "m8", "m9"}
		c.g.StartMembers(joiners...)
		grown := awaitFull(t, c.g, time.Minute)
		c.kept("grown")
		began := time.Now()
		for _, name := range joiners {
			c.g.Leave(name)
		}
		left := time.Since(began)
		shrunk := awaitFull(t, c.g, time.Minute)
		rounds, longest := ch.stop()
		time.Sleep(16 * time.Second)
		c.load.stop()
		c.calm("at the end")
		c.kept("at the end")
		c.notLost()
		t.Logf("full %v after six joins; six leaves took %v, full %v later; %d attaches, at the longest %v; %d IDs",
			grown, left, shrunk, rounds, longest, c.ids.count())
		if longest > churnMax {
			t.Errorf("an attach took %v, want at most %v", longest, churnMax)
		}
	})
}

// TestFaultsDuringMoves: a member dies or is cut off while partitions move to a joining
// one; afterwards every partition has all its copies, and no holder waited.
func TestFaultsDuringMoves(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, fault := range map[string]func(c *crowd) (mend func()){
		"leader":    func(c *crowd) func() { return c.crash(c.g.Leader()) },
		"owner":     func(c *crowd) func() { return c.crash(c.moving()) },
		"joiner":    func(c *crowd) func() { return c.crash("m5") },
		"cut":       func(c *crowd) func() { return c.cut("m5", other(c.g, "m5", c.g.Leader())) },
		"short cut": func(c *crowd) func() { return c.cut("m5", c.g.Leader()) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, 4, nil).use(3, several(6)...)
				c.g.Network.SetDelay(10 * time.Millisecond)
				c.g.StartMembers("m5")
				eventually(t, 5*time.Second, "partitions move", func() bool { return c.moving() != "" })
				mend := fault(c)
				time.Sleep(8 * time.Second)
				mend()
				full := awaitFull(t, c.g, time.Minute)
				time.Sleep(16 * time.Second)
				c.load.stop()
				c.calm("at the end")
				c.kept("at the end")
				t.Logf("full %v after all members are back; %d IDs", full, c.ids.count())
			})
		})
	}
}

// moving returns the owner of a partition that is being copied, "" for none.
func (c *crowd) moving() string {
	for _, p := range c.g.Member("m1").Status().Partitions {
		if p.Joining != "" {
			return nameOf(c.g, p.Owner)
		}
	}
	return ""
}

// crash ends a member; mend starts it again.
func (c *crowd) crash(name string) (mend func()) {
	c.gone(name)
	c.g.Crash(name)
	return func() { c.g.StartMembers(name) }
}

// cut stops everything between two members.
func (c *crowd) cut(a, b string) (mend func()) {
	c.g.Network.Cut(a, b)
	return c.g.Network.HealAll
}
