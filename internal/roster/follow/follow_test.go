package follow_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

var (
	grid   = roster.GridID{1}
	other  = roster.GridID{2}
	window = clustertime.Span(15_000)
)

func form(g roster.GridID) roster.Command {
	return roster.Command{Form: &roster.Form{Grid: g, Settings: roster.Settings{Name: "g", Partitions: 1, Backups: 1,
		Window: window}, Ceiling: 1000}}
}

func raise(v roster.Version, to clustertime.Tick) roster.Command {
	return roster.Command{From: v, Raise: &roster.Raise{Time: to}}
}

// leader returns a follower whose log has a form and n raises, at every second position.
func leader(t *testing.T, n int) *follow.Follower {
	t.Helper()
	f := follow.New(grid)
	commit(t, f, 2, form(grid))
	for i := 1; i <= n; i++ {
		commit(t, f, follow.Position(2+2*i), raise(1, clustertime.Tick(100_000*i)))
	}
	return f
}

func commit(t *testing.T, f *follow.Follower, at follow.Position, c roster.Command) {
	t.Helper()
	if _, err := f.Commit(at, c); err != nil {
		t.Fatal(err)
	}
}

// pull brings what one follower lacks from another, as a member does.
func pull(t *testing.T, to, from *follow.Follower) (whole bool) {
	t.Helper()
	entries, known := from.Since(to.Served().At)
	if !known {
		if _, err := to.Adopt(grid, from.Served()); err != nil {
			t.Fatal(err)
		}
		return true
	}
	for _, e := range entries {
		if _, err := to.Push(grid, e); err != nil {
			t.Fatal(err)
		}
	}
	return false
}

func TestPushedCommandsAreServed(t *testing.T) {
	from, to := leader(t, 3), follow.New(grid)
	if pull(t, to, from) || to.Served().At != 8 || to.Served().Roster.Ceiling != from.Served().Roster.Ceiling {
		t.Errorf("served: %+v", to.Served())
	}
	if to.Log().Roster.Formed() {
		t.Error("a push changed the roster of the log")
	}
	entries, _ := from.Since(0)
	if news, err := to.Push(grid, entries[1]); news || err != nil {
		t.Errorf("a known command: %v, %v", news, err)
	}
	if again := follow.New(grid); pull(t, again, to) || again.Served().At != 8 {
		t.Errorf("from a member that learned it: %+v", again.Served())
	}
}

func TestGapIsPulled(t *testing.T) {
	from, to := leader(t, 1), follow.New(grid)
	pull(t, to, from)
	commit(t, from, 6, raise(1, 200_000))
	commit(t, from, 8, raise(1, 300_000))
	entries, _ := from.Since(6)
	if news, err := to.Push(grid, entries[0]); news || !errors.Is(err, follow.ErrGap) || to.Served().At != 4 {
		t.Errorf("behind a gap: %v, %v", news, err)
	}
	if pull(t, to, from) || to.Served().At != 8 {
		t.Errorf("after the pull: %+v", to.Served())
	}
}

// TestRefusedCommandsAreNoGap: positions without an effect are passed over.
func TestRefusedCommandsAreNoGap(t *testing.T) {
	from, to := leader(t, 1), follow.New(grid)
	pull(t, to, from)
	if _, err := from.Commit(6, raise(9, 200_000)); !errors.Is(err, roster.ErrStale) {
		t.Fatal(err)
	}
	commit(t, from, 9, raise(1, 300_000))
	if pull(t, to, from) || to.Served().At != 9 {
		t.Errorf("served: %+v", to.Served())
	}
}

func TestOldMemberGetsTheWholeRoster(t *testing.T) {
	from, to := leader(t, 2*follow.Kept), follow.New(grid)
	if !pull(t, to, from) || to.Served() != from.Served() {
		t.Errorf("served: %+v", to.Served())
	}
	if _, known := to.Since(4); known {
		t.Error("a member that has only the whole roster knows the commands before it")
	}
	commit(t, from, 1000, raise(1, 90_000_000))
	if pull(t, to, from) || to.Served().At != 1000 {
		t.Errorf("after one more: %+v", to.Served())
	}
	if entries, known := from.Since(10_000); len(entries) > 0 || !known {
		t.Error("a member that is ahead lacks something")
	}
}

func TestOtherGridIsForeign(t *testing.T) {
	from, to := leader(t, 1), follow.New(other)
	entries, _ := from.Since(0)
	for _, named := range []roster.GridID{grid, other} {
		if _, err := to.Push(named, entries[0]); !errors.Is(err, follow.ErrForeign) {
			t.Errorf("a command of another grid: %v", err)
		}
		if _, err := to.Adopt(named, from.Served()); !errors.Is(err, follow.ErrForeign) {
			t.Errorf("a roster of another grid: %v", err)
		}
	}
	if to.Served().At != 0 {
		t.Errorf("served: %+v", to.Served())
	}
	commit(t, to, 2, form(other))
	if _, err := to.Push(grid, entries[1]); !errors.Is(err, follow.ErrForeign) || to.Served().At != 2 {
		t.Errorf("a raise of another grid: %v", err)
	}
}

// TestServedRosterNeverGoesBack: neither by position nor by content.
func TestServedRosterNeverGoesBack(t *testing.T) {
	old, to := leader(t, 1), leader(t, 2)
	if news, err := to.Adopt(grid, old.Served()); news || err != nil || to.Served().At != 6 {
		t.Errorf("an earlier roster: %v, %v", news, err)
	}
	if _, err := to.Adopt(grid, follow.Image{At: 99, Roster: old.Served().Roster}); !errors.Is(err, follow.ErrBackward) {
		t.Errorf("a lower ceiling at a later position: %v", err)
	}
	if _, err := to.Push(grid, follow.Entry{After: 7, At: 7, Command: raise(1, 1)}); !errors.Is(err, follow.ErrGap) {
		t.Errorf("an entry that follows itself: %v", err)
	}
}

// TestLogAndPushesAreApart: a voter that learned a command by push applies it to the log's
// roster all the same, once.
func TestLogAndPushesAreApart(t *testing.T) {
	from, voter := leader(t, 3), leader(t, 1)
	pull(t, voter, from)
	if voter.Served().At != 8 || voter.Log().At != 4 {
		t.Fatalf("served %d, log %d", voter.Served().At, voter.Log().At)
	}
	if news, err := voter.Commit(6, raise(1, 200_000)); news || err != nil || voter.Log().At != 6 ||
		voter.Served().At != 8 {
		t.Errorf("the log catches up: %v, %v", news, err)
	}
	commit(t, voter, 8, raise(1, 300_000))
	if news, err := voter.Commit(10, raise(1, 400_000)); !news || err != nil || voter.Served().At != 10 {
		t.Errorf("the log is ahead: %v, %v", news, err)
	}
	if entries, known := voter.Since(6); !known || len(entries) != 2 {
		t.Errorf("the commands since 6: %+v, %v", entries, known)
	}
	if news := voter.Install(follow.Image{At: 9, Roster: from.Served().Roster}); news || voter.Log().At != 9 ||
		voter.Served().At != 10 {
		t.Error("an old snapshot changed the served roster, or not that of the log")
	}
	if news := voter.Install(follow.Image{At: 20, Roster: from.Served().Roster}); !news || voter.Served().At != 20 {
		t.Error("a snapshot is not served")
	}
}

func TestAgeOfARaise(t *testing.T) {
	for age, want := range map[time.Duration]bool{-1: false, 0: true, follow.FreshWithin - 1: true,
		follow.FreshWithin: false} {
		if follow.Fresh(age) != want {
			t.Errorf("age %v counts: %v", age, !want)
		}
	}
}
