package gridtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestDiscover: members without Join form a grid by Config.Discover, and a later one joins it.
func TestDiscover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) {
			seeds := c.Join
			c.Join = nil
			c.Discover = func(context.Context) ([]string, error) { return seeds, nil }
		}})
		const name = "m4"
		g.StartMembers(name)
		eventually(t, time.Minute, "four members", func() bool { return len(g.Member(name).Status().Members) == 4 })
	})
}

// TestDiscoverFindsNone: the reason to wait names Config.Discover.
func TestDiscoverFindsNone(t *testing.T) {
	t.Parallel()
	cfg := grid.Config{GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
		Discover: func(context.Context) ([]string, error) { return nil, nil }}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	m, err := grid.Start(ctx, cfg)
	if err == nil {
		_ = m.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Config.Discover") {
		t.Errorf("a member that finds no grid: %v", err)
	}
}
