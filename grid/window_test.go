package grid_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestStatedWindowOfThreeSeconds: a stated window is kept, a lone member's too.
func TestStatedWindowOfThreeSeconds(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	members := startGrid(t, 2, func(_ int, c *grid.Config) { c.Window = 3 * time.Second })
	if w := members[0].Status().Settings.Window; w != 3000 {
		t.Errorf("window %d ms, stated 3000", w)
	}
	// A third with the same statement joins.
	m, err := grid.Start(testContext(t), grid.Config{
		GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0", DataDir: t.TempDir(),
		Join: []string{members[0].Addrs().Gossip}, Window: 3 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
}
