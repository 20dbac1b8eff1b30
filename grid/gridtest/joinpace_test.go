package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestJoinWaitsForNoTick: a member comes into a grid without waiting for the ticks of its own way
// there or those of the leader: it waits for Raft's followers alone, 40 ms at most.
func TestJoinWaitsForNoTick(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		time.Sleep(30 * time.Second) // everything is placed
		var started, ready []time.Duration
		var sum time.Duration
		for _, name := range []string{"m4", "m5", "m6", "m7", "m8", "m9"} {
			began := time.Now()
			g.StartMembers(name)
			started = append(started, time.Since(began))
			sum += time.Since(began)
			awaitTrue(t, name+" is ready", g.Member(name).Ready)
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s was ready after %v", name, took)
			}
			ready = append(ready, time.Since(began))
			time.Sleep(2 * time.Second)
		}
		t.Logf("started after %v, ready after %v", started, ready)
		if sum > 6*45*time.Millisecond {
			t.Errorf("members started after %v", started)
		}
	})
}
