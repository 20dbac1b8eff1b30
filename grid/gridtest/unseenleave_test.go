package gridtest_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestLeaveOfAnUnseenMember: a member with another gossip key sees no other one, and still hands its partitions over
// to them when it leaves. A member that leaves beside it is held back for 10 s at most.
func TestLeaveOfAnUnseenMember(t *testing.T) {
	for leaver, limit := range []time.Duration{5 * time.Second, 15 * time.Second} { // the unseen one, the other follower
		t.Run(limit.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := new(lockedBuffer)
				g := gridtest.Start(t, gridtest.Config{
					Members: 3, Secured: true, Durable: true, Logger: slog.New(slog.NewTextHandler(log, nil)),
					Change: func(_ string, c *grid.Config) { c.Backups = grid.NoBackups },
				})
				other := base64.StdEncoding.EncodeToString(newKey('n'))
				led := g.Leader()
				followers := slices.DeleteFunc(g.Running(), func(name string) bool { return name == led })
				ok(t, "keys", os.WriteFile(keysFile(g, followers[0]), []byte(other), 0o600))
				time.Sleep(20 * time.Second)
				began := time.Now()
				ok(t, "leave", g.TryLeave(context.WithoutCancel(t.Context()), followers[leaver]))
				if took := time.Since(began); took > limit {
					t.Errorf("it took %v", took)
				}
				time.Sleep(10 * time.Second)
				if log.count("partitions lost") > 0 {
					t.Error("partitions are lost")
				}
			})
		})
	}
}
