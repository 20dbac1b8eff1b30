//go:build unix

package upgrade

import (
	"flag"
	"os"
	"slices"
	"syscall"
	"testing"
)

var whole = flag.Bool("whole", false,
	"upgrade and take back every member in both orders, in order and by kills, under ten holders (some minutes)")

// TestRollingUpgrade upgrades the members of a grid one after the other, and takes them
// back. No Next of a holder of either release fails, no ID is there twice, those of each
// handle ascend, no table is lost, and every member is ready after each step.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	before, present := releases(t)
	c := startCluster(t, before, 3)
	holders, batch := 4, 10
	if *whole {
		holders, batch = 10, 50
	}
	l := startLoad(t, c, holders, batch, before, present)
	lost := c.lost()
	roll := func(to release, leaderFirst bool, by os.Signal) {
		t.Helper()
		leads := c.leader()
		order := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m == leads })
		if leaderFirst {
			order = slices.Insert(order, 0, leads)
		} else {
			order = append(order, leads)
		}
		for i, m := range order {
			c.change(m, to, by)
			l.running("after " + m.name)
			all := i == len(order)-1
			if all && to == present {
				c.awaitProtocols(1, NextProtocol)
			} else {
				c.awaitProtocols(1, PreviousProtocol)
			}
		}
	}
	roll(present, true, syscall.SIGTERM)
	if *whole {
		roll(before, false, syscall.SIGTERM)
		roll(present, false, os.Kill)
		roll(before, true, os.Kill)
		roll(present, true, syscall.SIGTERM)
	} else {
		c.change(c.leader(), before, os.Kill)
		c.awaitProtocols(1, PreviousProtocol)
	}
	if now := c.lost(); now != lost {
		t.Errorf("partitions lost their tables: %d, %d before", now, lost)
	}
	l.running("at the end")
	l.end()
}
