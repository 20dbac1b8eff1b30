package gridtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// TestReadyAfterARestart: a member that crashed and is started again is not ready
// until every replica that it is meant to have is in sync, and then it is.
func TestReadyAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3, nil).use(2, several(6)...)
		c.g.Network.SetDelay(5 * time.Millisecond)
		for _, name := range c.g.Running() {
			before := inSync(c.g, name, name)
			c.gone(name)
			c.g.Crash(name)
			unready := c.startReady(name)
			took := untilReady(t, c.g.Member(name))
			if ready, _ := readyz(t, c.g, name); !ready {
				t.Errorf("/readyz of %s is not ok when Ready says so", name)
			}
			t.Logf("%s said %d times that it is not ready, and is %v after it serves; it has %d replicas, had %d", name, unready,
				took, inSync(c.g, name, name), before)
			if inSync(c.g, name, name) == 0 || unready == 0 {
				t.Errorf("%s has %d replicas, and said %d times that it is not ready", name, inSync(c.g, name, name), unready)
			}
			awaitFull(t, c.g, 5*time.Second)
		}
	})
}

// startReady starts a member and polls its readiness: it must not be ready while another
// member knows of a missing replica. It returns the number of negative answers.
func (c *crowd) startReady(name string) (unready int) {
	c.t.Helper()
	watcher := c.g.Member(other(c.g, name))
	started := make(chan struct{})
	go func() {
		c.g.StartMembers(name)
		close(started)
	}()
	for {
		ready, answered := readyz(c.t, c.g, name)
		if missing := missingReplica(watcher.Status()); ready && missing != "" {
			c.t.Errorf("%s is ready: %s", name, missing)
		}
		unready += count(answered && !ready)
		select {
		case <-started:
			return unready
		case <-time.After(time.Millisecond):
		}
	}
}

// missingReplica names a partition without all its replicas, "" for none.
func missingReplica(s grid.Status) string {
	for _, p := range s.Partitions {
		if len(p.InSync) != 1+s.Settings.Backups || p.Joining != "" {
			return fmt.Sprintf("partition %d is at %v, joining %q", p.ID, p.InSync, p.Joining)
		}
	}
	return ""
}

// untilReady waits until a member is ready, and checks that it has all replicas in
// sync then.
func untilReady(t *testing.T, m *grid.Member) time.Duration {
	t.Helper()
	return eventually(t, time.Minute, "the member is ready", func() bool {
		s := m.Status()
		if !s.Ready {
			return false
		}
		if missing := missingReplica(s); missing != "" {
			t.Error("ready:", missing)
		}
		return true
	})
}

// TestNotReadyFromTheBeginningOfLeave: POST /v1/ids ends before anything else, so a leaving member is not
// ready while it hands its tables over.
func TestNotReadyFromTheBeginningOfLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3, nil)
		name := other(c.g, c.g.Leader())
		m := c.g.Member(name)
		untilReady(t, m)
		c.g.Network.SetDelay(20 * time.Millisecond) // a handover takes calls to other members
		left := make(chan error, 1)
		go func() { left <- m.Leave(t.Context()) }()
		synctest.Wait()
		if ready, answered := readyz(t, c.g, name); ready || !answered {
			t.Errorf("a leaving member is ready: %v, it answered: %v", ready, answered)
		}
		if reason := m.Status().NotReady; !strings.Contains(reason, "leaves the grid") {
			t.Errorf("the reason is %q", reason)
		}
		ok(t, "leave", <-left)
	})
}

// TestReadyAfterASilence: a member that was silent long enough to be dropped from
// in-sync sets, and not long enough to be taken out, is not ready until it is back
// in all of them.
func TestReadyAfterASilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3, nil).use(2, several(6)...)
		name := other(c.g, c.g.Leader())
		watcher := other(c.g, name)
		before := inSync(c.g, watcher, name)
		self := c.g.Member(name).Status().Answering
		c.g.Network.Pause(name)
		silent := eventually(t, 5*time.Second, "its replicas are dropped",
			func() bool { return inSync(c.g, watcher, name) == 0 })
		if settled(c.g.Member(watcher), self) {
			t.Error("a member without replicas is settled")
		}
		c.g.Network.SetDelay(20 * time.Millisecond) // without one it may be back before the next look
		c.g.Network.Resume(name)
		unready := eventually(t, 5*time.Second, "it hears that it is not ready",
			func() bool { return !c.g.Member(name).Ready() })
		took := untilReady(t, c.g.Member(name))
		full := awaitFull(t, c.g, 20*time.Second)
		after := inSync(c.g, watcher, name)
		t.Logf("dropped after %v, knows it after %v, ready %v later, full %v after that; %d replicas, had %d", silent,
			unready, took, full, after, before)
		if again := c.g.Member(name).Status().Answering; again != self || after == 0 {
			t.Errorf("it is %s with %d replicas now, was %s", again, after, self)
		}
		c.load.stop()
		c.gone(name)
		c.calm("at the end")
		c.kept("at the end")
	})
}

// settled reports whether a member sees another as settled.
func settled(m *grid.Member, incarnation string) bool {
	for _, i := range m.Status().Members {
		if i.Incarnation == incarnation {
			return i.Settled
		}
	}
	return false
}
