package gridtest_test

import (
	"errors"
	"github.com/snowgrid/snowgrid/internal/long"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// prompt bounds a call for an ID that can be issued now: an attach takes two round trips, and a grant
// that begins at the owner's time may begin some milliseconds later by the caller's clock.
const prompt = 10 * time.Millisecond

// beginsAfter has a grid start: no member is ready before an ID can be issued, and each says when
// that is and why; then all are ready. It returns how long that took.
func beginsAfter(t *testing.T, g *gridtest.Grid, why string, start func()) time.Duration {
	t.Helper()
	began := time.Now()
	start()
	orders := create(t, g.Client("begin"), "orders", 0)
	ids := newChecker(t)
	said := 0
	for {
		ready, _ := readyz(t, g, "m1")
		s := g.Member("m1").Status()
		_, err := ids.caller("early").next(within(t, prompt), orders)
		if err == nil {
			break
		}
		if ready {
			t.Fatalf("m1 is ready, and an ID takes longer than %v: %v", prompt, err)
		}
		if !errors.Is(err, sequencer.ErrGrantExpired) && !errors.Is(err, sequencer.ErrUnavailable) ||
			strings.Contains(err.Error(), "reachable") {
			t.Fatalf("error %v", err)
		}
		if !s.IDsBegin.IsZero() && s.IDsBegin.After(gridtest.Now()) {
			said++
			if !strings.HasPrefix(s.NotReady, "IDs begin at ") || !strings.Contains(s.NotReady, why) ||
				!strings.Contains(err.Error(), "IDs begin at ") {
				t.Fatalf("not ready: %s; error %v", s.NotReady, err)
			}
			if s.IDsBegin.Sub(gridtest.Now()) > time.Minute || !hasAlert(s, "ids_begin_later") ||
				hasAlert(s, "member_not_ready") {
				t.Fatalf("IDs begin at %v: %v", s.IDsBegin, grid.Alerts(s))
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	if took := time.Since(began); said == 0 && took > 5*time.Second {
		t.Errorf("the first ID took %v, and m1 did not say why", took)
	}
	took := time.Since(began)
	eventually(t, 3*time.Second, "all members are ready", func() bool {
		for _, name := range g.Running() {
			if !g.Member(name).Ready() {
				return false
			}
		}
		return true
	})
	return took
}

// serves reports whether a member is ready, or will be when IDs begin.
func serves(s grid.Status) bool {
	return s.Ready || !s.IDsBegin.IsZero() && strings.HasPrefix(s.NotReady, "IDs begin at ")
}

func hasAlert(s grid.Status, name string) bool {
	for _, a := range grid.Alerts(s) {
		if a.Name == name {
			return true
		}
	}
	return false
}

// TestReadyWhenIDsBegin: a member is ready when an ID can be issued, not before: in a grid without data
// directories after the first window, and in one of which all members were killed after the grants
// of before.
func TestReadyWhenIDsBegin(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	t.Run("memory only", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.New(t, gridtest.Config{Members: 3})
			if took := beginsAfter(t, g, "without data directories",
				func() { g.StartMembers(names(3)...) }); took < 15*time.Second {
				t.Errorf("IDs began after %v", took)
			}
		})
	})
	t.Run("all killed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true})
			if took := beginsAfter(t, g, "", func() { g.StartMembers(names(3)...) }); took > 5*time.Second {
				t.Errorf("IDs began after %v", took)
			}
			time.Sleep(time.Minute)
			g.Crash(names(3)...)
			if took := beginsAfter(t, g, "every copy was lost", func() { g.StartMembers(names(3)...) }); took < 5*time.Second {
				t.Errorf("IDs began after %v", took)
			}
		})
	})
}

// TestReadyAndSettledBesideDeadMembers: a member that sees no majority and no leader is neither
// settled nor ready for longer than their end takes to notice.
func TestReadyAndSettledBesideDeadMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		for _, name := range names(3) {
			eventually(t, time.Minute, name+" is ready", g.Member(name).Ready)
		}
		leader := g.Leader()
		var dead []string
		alive := ""
		for _, name := range names(3) {
			if alive == "" && name != leader {
				alive = name
			} else {
				dead = append(dead, name)
			}
		}
		m := g.Member(alive)
		g.Crash(dead...)
		settled := eventually(t, time.Minute, "the member says that nothing is settled", func() bool { return !m.Settled() })
		ready := settled + eventually(t, time.Minute, "the member is not ready", func() bool { return !m.Ready() })
		if settled > 4*time.Second || ready > 6500*time.Millisecond { // half a window is 7.5 s
			t.Errorf("settled for %v, ready for %v beside two dead members", settled, ready)
		}
	})
}
