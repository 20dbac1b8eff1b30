package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// leaveEnds is the time that Leave takes after its context has ended at most: half a second for pings of the gossip
// that are in progress, a second for Raft and the disk, and a tenth besides.
const leaveEnds = 1600 * time.Millisecond

// TestLeaveEndsWithItsContext: where all members leave, none takes the goodbye of another. Leave does not wait for that
// beyond its deadline.
func TestLeaveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 2, Durable: true})
			time.Sleep(5 * time.Second)
			ended := make(chan time.Duration, 2)
			for _, name := range g.Running() {
				go func() {
					began := time.Now()
					_ = g.TryLeave(within(t, limit), name)
					ended <- time.Since(began)
				}()
			}
			for range 2 {
				if took := <-ended; took > limit+leaveEnds {
					t.Errorf("Leave returned after %v of %v", took, limit)
				}
			}
		})
	}
}
