package gridtest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestAnchorOfALargerWindow: a live grid whose window was enlarged extends its record every ten minutes. Another grid
// with the earlier window waits for it, and takes the record of one that is gone.
func TestAnchorOfALargerWindow(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAnchorStore()
		a, b := anchoredGrid(t, s, 1, nil, nil), anchoredGrid(t, s, 1, nil, nil)
		a.StartMembers("m1")
		const window = 10 * time.Minute
		setSettings(t, a, "m1", fmt.Sprintf(`{"window_ms":%d}`, window.Milliseconds()))
		eventually(t, time.Second, "the ceiling follows", a.Member("m1").Ready)
		serves := make(chan struct{})
		go func() {
			defer close(serves)
			for t.Context().Err() == nil && b.TryMember(t.Context(), "m1") != nil {
			}
		}()
		for since := time.Now(); time.Since(since) < time.Hour; time.Sleep(5 * time.Second) {
			if m := a.Member("m1"); anchorOf(a).State != "held" || !m.Ready() {
				t.Fatalf("%v after the change: %+v, ready %v", time.Since(since), anchorOf(a), m.Ready())
			}
		}
		a.Crash("m1")
		select {
		case <-serves:
		case <-time.After(2*window + 2*time.Minute):
			t.Error("the other grid has not taken the anchor of the crashed one")
		}
	})
}

// TestAnchorAwayAtTheFirstStart: while a grid waits for its anchor, each member names the anchor, also a follower,
// which waits for the first member.
func TestAnchorAwayAtTheFirstStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAnchorStore()
		s.away.Store(true)
		dir := t.TempDir()
		g := anchoredGrid(t, s, 3, nil, func(name string, c *grid.Config) { c.DataDir = filepath.Join(dir, name) })
		errs := make(chan error, 3)
		for _, m := range names(3) {
			go func() { errs <- g.TryMember(within(t, 30*time.Second), m) }()
		}
		for range 3 {
			if err := <-errs; err == nil || !strings.Contains(err.Error(), "anchor") {
				t.Errorf("start without the anchor: %v", err)
			}
		}
		s.away.Store(false)
		g.StartMembers(names(3)...)
	})
}
