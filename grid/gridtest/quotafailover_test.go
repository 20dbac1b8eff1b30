package gridtest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestQuotaOfNamesWhileAnOwnerFails: between the crash of an owner and the first answer of the next
// one no member counts the names of its partitions. Creates do not pass the quota then, and no member
// reports a count that lacks them.
func TestQuotaOfNamesWhileAnOwnerFails(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	const names = 12
	fail := func(t *testing.T, attend func(g *gridtest.Grid, c *client.Client, i int)) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
			c := g.Client("client")
			setQuotas(t, g, "m2", fmt.Sprintf(`{"quotas":[{"pattern":"a*","names":%d}]}`, names))
			for i := range names {
				create(t, c, fmt.Sprintf("a%02d", i), 128)
			}
			time.Sleep(1100 * time.Millisecond) // the owners count again
			owner := g.OwnerOf("a00")
			for i := 1; owner == g.Leader(); i++ {
				owner = g.OwnerOf(fmt.Sprintf("a%02d", i))
			}
			g.Crash(owner)
			begin := time.Now()
			for i := 0; time.Since(begin) < 20*time.Second && !t.Failed(); i++ {
				attend(g, c, i)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	t.Run("creates", func(t *testing.T) {
		refused := 0
		fail(t, func(_ *gridtest.Grid, c *client.Client, i int) {
			name := fmt.Sprintf("a%d", 1000+i)
			switch _, err := c.CreateSequencer(within(t, 50*time.Millisecond), name, sequencer.Config{Nodes: 128}); {
			case err == nil:
				t.Errorf("%s was created beyond the quota", name)
			case errors.Is(err, sequencer.ErrQuota):
				refused++
			}
		})
		if refused == 0 {
			t.Error("no create was refused by the quota")
		}
	})
	t.Run("reports", func(t *testing.T) {
		exact := 0
		fail(t, func(g *gridtest.Grid, _ *client.Client, _ int) {
			for _, member := range g.Running() {
				switch used := usedOf(t, g, member, "a*"); used {
				case names:
					exact++
				case -1:
				default:
					t.Errorf("%s reports that %d names are used, want %d", member, used, names)
				}
			}
		})
		if exact == 0 {
			t.Error("the use of the quota was never reported")
		}
	})
}
