package gridtest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestQuotaOfNamesIsExact: creates that follow one another at different owners, or run at the same time, take all
// that a quota allows and no more, also when an owner dies meanwhile.
func TestQuotaOfNamesIsExact(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for what, c := range map[string]struct {
		callers int
		crash   bool
	}{"one after the other": {1, false}, "at the same time": {20, false}, "while an owner dies": {20, true}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const limit, tries, full = 10, 40, `there are 10 sequencers of "a*"`
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
				client := g.Client("client")
				g.Network.SetDelay(time.Millisecond)
				setQuotas(t, g, "m2", fmt.Sprintf(`{"quotas":[{"pattern":"a*","names":%d}]}`, limit))
				var mu sync.Mutex
				var made []string
				var callers sync.WaitGroup
				for k := range c.callers {
					callers.Go(func() {
						for i := k; i < tries; i += c.callers {
							name := fmt.Sprintf("a%02d", i)
							_, err := client.CreateSequencer(within(t, 30*time.Second), name, sequencer.Config{Nodes: 128})
							if err != nil && (!errors.Is(err, sequencer.ErrQuota) || !strings.Contains(err.Error(), full)) {
								t.Errorf("%s: %v", name, err)
							}
							mu.Lock()
							if err == nil {
								made = append(made, name)
							}
							mu.Unlock()
						}
					})
				}
				if c.crash {
					time.Sleep(5 * time.Millisecond)
					g.Crash(g.OwnerOf("a00"))
				}
				callers.Wait()
				time.Sleep(2 * time.Second)
				slices.Sort(made)
				if used := usedOf(t, g, g.Running()[0], "a*"); len(made) != limit || used != limit {
					t.Errorf("%d sequencers created, %d used, and the quota allows %d: %v", len(made), used, limit, made)
				}
			})
		})
	}
}
