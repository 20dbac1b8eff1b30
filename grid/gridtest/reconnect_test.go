package gridtest_test

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// With more holders:
//
//	go test ./grid/gridtest -run TestReconnect -holders 10000
var holdersAtOnce = flag.Int("holders", 500, "number of holders that lose their owner in TestReconnect")

// TestReconnect: when an owner crashes, all its holders call the backup at the same time,
// and every one keeps its logical node without a wait.
func TestReconnect(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		victim := g.OwnerOf("orders")
		names := []string{ownedBy(t, g, victim), "orders"}
		handles := make([]*sequencer.Sequencer, *holdersAtOnce)
		nodes := make([]sequencer.NodeID, len(handles))
		var all sync.WaitGroup
		for i := range handles {
			c := g.Client(fmt.Sprint("h", i))
			all.Go(func() {
				handles[i] = attached(t, c, names[i%2])
				nodes[i], _ = handles[i].LogicalNode()
			})
		}
		all.Wait()
		time.Sleep(5 * time.Second)
		began := time.Now()
		g.Crash(victim)
		renewed := eventually(t, 13*time.Second, "every grant continues beyond the crash", func() bool {
			for _, h := range handles {
				if h.Stats().GrantUntil.Before(gridtest.Now().Add(8*time.Second)) ||
					!h.Stats().GrantUntil.After(began.Add(clockAhead+16*time.Second)) {
					return false
				}
			}
			return true
		})
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		for i, h := range handles {
			if node, held := h.LogicalNode(); !held || node != nodes[i] || h.Stats().GrantWaits > 0 {
				t.Errorf("holder %d has logical node %d (%v), had %d; %d waits", i, node, held, nodes[i], h.Stats().GrantWaits)
			}
		}
		t.Logf("%d holders were renewed by the backup %v after the crash; %d MiB of heap in the whole process", len(handles),
			renewed, memory.HeapAlloc>>20)
	})
}

// clockAhead is how far the members' wall clocks are ahead of the bubble's time.
var clockAhead = time.Until(gridtest.Now())

// attached returns an attached handle, for goroutines of a test.
func attached(t *testing.T, c *client.Client, name string) *sequencer.Sequencer {
	s, err := c.CreateSequencer(within(t, time.Minute), name, sequencer.Config{})
	if err != nil {
		t.Errorf("create %q: %v", name, err)
		return &sequencer.Sequencer{}
	}
	return s
}
