package gridtest_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestIDsOfALeavingMember: a caller of POST /v1/ids has no logical node of its own. So a member that leaves, or is
// closed, refuses it as closed, which another member answers, and never as detached, which none does.
func TestIDsOfALeavingMember(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"leave", "close"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3})
				time.Sleep(30 * time.Second) // the partitions serve
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				pool := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Holder))
				defer pool.Close()
				name, refused := other(g, g.Leader()), 0
				ids := func(n int) error {
					in := wire.IDsRequest{Name: "name" + strconv.Itoa(n), Create: &wire.IDsCreate{}}
					return pool.Call(ctx, name+":7948", wire.PathIDs, in, &wire.IDsResponse{})
				}
				for n := range 8 {
					ok(t, "IDs", ids(n))
				}
				g.Network.SetDelay(20 * time.Millisecond) // a release takes calls to other members
				var mu sync.Mutex
				var asking sync.WaitGroup
				for n := range 8 {
					asking.Go(func() {
						for err := error(nil); ctx.Err() == nil && !errors.Is(err, sequencer.ErrUnavailable); {
							if err = ids(n); errors.Is(err, sequencer.ErrClosed) {
								mu.Lock()
								refused++
								mu.Unlock()
								if !strings.Contains(err.Error(), "use another member") {
									t.Errorf("a refusal without a remedy: %v", err)
								}
							} else if err != nil && !errors.Is(err, sequencer.ErrUnavailable) {
								t.Errorf("name%d: %v", n, err)
							}
						}
					})
				}
				time.Sleep(100 * time.Millisecond)
				if end == "leave" {
					g.Leave(name)
				} else {
					ok(t, "close", g.Member(name).Close())
				}
				asking.Wait()
				if t.Logf("%d refusals", refused); refused == 0 && end == "leave" {
					t.Error("no call was refused")
				}
			})
		})
	}
}
