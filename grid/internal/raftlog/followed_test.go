package raftlog

import (
	"errors"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"testing"
	"testing/synctest"
)

// TestPushedRaises: a pushed roster is served, the log's roster stays as it is, and the time
// counts if the raise is fresh, or when the log has it. After the end nothing counts.
func TestPushedRaises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := formed(t)
		s := state.New(handles.NewExactClock(), handles.NewExactClock())
		f := newFollowed(r.Grid, "", s, nil)
		f.install(follow.Image{At: 5, Roster: r})
		push := func(after follow.Position, fresh bool) error {
			t.Helper()
			raise := roster.Raise{Time: s.Roster().Time + 1000}
			_, err := f.push([]follow.Entry{{After: after, At: after + 1,
				Command: roster.Command{From: r.Version, Raise: &raise}}}, follow.Image{}, fresh)
			return err
		}
		if err := push(5, false); err != nil || s.Roster().Ceiling <= r.Ceiling || s.Clock.Now() != 0 ||
			s.LastRaise() != nil {
			t.Errorf("a raise of unknown age: %v, ceiling %d, time %d", err, s.Roster().Ceiling, s.Clock.Now())
		}
		if err := push(6, true); err != nil || s.Clock.Now() == 0 || s.LastRaise() == nil {
			t.Errorf("a fresh raise: %v, time %d", err, s.Clock.Now())
		}
		if f.log() != r {
			t.Error("a push changed the roster of the log")
		}
		served := s.Roster()
		first := roster.Command{From: r.Version, Raise: &roster.Raise{Time: r.Time + 1000}}
		if _, _, err := f.commit(6, first, true); err != nil || s.Roster() != served || s.LastRaise().Time != served.Time {
			t.Errorf("the log has a pushed command: %v", err)
		}
		if err := push(9, true); !errors.Is(err, follow.ErrGap) || s.Roster() != served {
			t.Errorf("behind a gap: %v", err)
		}
		f.end()
		if err := push(7, true); !errors.Is(err, refusal.ErrClosed) || s.Roster() != served {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestRaiseOfUnknownAgeCountsByTheLog: the log tells of it later.
func TestRaiseOfUnknownAgeCountsByTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := formed(t)
		s := state.New(handles.NewExactClock(), handles.NewExactClock())
		f := newFollowed(r.Grid, "", s, nil)
		f.install(follow.Image{At: 5, Roster: r})
		c := roster.Command{From: r.Version, Raise: &roster.Raise{Time: r.Time + 1000}}
		if at, err := f.push([]follow.Entry{{After: 5, At: 6, Command: c}}, follow.Image{}, false); at != 6 || err != nil ||
			s.LastRaise() != nil {
			t.Fatalf("pushed: %d, %v", at, err)
		}
		if _, _, err := f.commit(6, c, true); err != nil || s.LastRaise() == nil || s.Clock.Now() == 0 {
			t.Errorf("by the log: %v, last raise %v", err, s.LastRaise())
		}
	})
}
