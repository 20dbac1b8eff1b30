package grid_test

import (
	"github.com/snowgrid/snowgrid/internal/long"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/raftlogtest"
)

// TestLeaderWithAFailedDiskIsReplacedAtOnce: its process runs and answers calls, but says that it leads
// no longer, so that no voter waits until it has missed heartbeats.
func TestLeaderWithAFailedDiskIsReplacedAtOnce(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 5 {
			g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
			time.Sleep(time.Minute) // the leader rests
			leads := g.Leader()
			disk := g.Member(leads).Disk()
			raftlogtest.FailWrites(disk, raftlogtest.Append)
			raftlogtest.AwaitBroken(t, disk)
			began := time.Now()
			for next := leads; next == leads || next == ""; time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > 500*time.Millisecond {
					t.Fatalf("no other leader after %v", time.Since(began))
				}
				next = ""
				for _, name := range g.Running() {
					if g.Member(name).Stats().Leads && name != leads {
						next = name
					}
				}
			}
			t.Logf("another leader after %v", time.Since(began))
			for _, name := range g.Running() {
				if err := g.Member(name).Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
