package raftlog

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

// TestPushes: a pushed roster is served, and the log's roster stays as it is. Cluster time is the leader's, also if
// the push has no command or one behind a gap, and unknown while the leader's does not count (F5). After the end
// nothing counts.
func TestPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := formed(t)
		s := state.New(handles.NewExactClock(), handles.NewExactClock())
		f := newFollowed(r.Grid, "", s, nil)
		f.install(follow.Image{At: 5, Roster: r})
		push := func(after follow.Position, now clustertime.Tick) error {
			t.Helper()
			raise := roster.Raise{Time: s.Roster().Time + 1000}
			_, err := f.push([]follow.Entry{{After: after, At: after + 1,
				Command: roster.Command{From: r.Version, Raise: &raise}}}, follow.Image{}, now)
			return err
		}
		if err := push(5, 0); err != nil || s.Roster().Ceiling <= r.Ceiling || s.Clock.Now() != 0 ||
			s.LastRaise() != nil {
			t.Errorf("the leader's time does not count: %v, ceiling %d, time %d", err, s.Roster().Ceiling, s.Clock.Now())
		}
		now := r.Time + 2400 // the raise of the next push is 400 ms old
		if err := push(6, now); err != nil || s.Clock.Now() != now || s.Handles.Now() != now ||
			s.LastRaise().Time != r.Time+2000 || s.RaiseAge() != 400*time.Millisecond {
			t.Errorf("%v, time %d, want %d, last raise %v", err, s.Clock.Now(), now, s.LastRaise())
		}
		if f.log() != r {
			t.Error("a push changed the roster of the log")
		}
		served := s.Roster()
		if err := push(9, now+300); !errors.Is(err, follow.ErrGap) || s.Roster() != served || s.Clock.Now() != now+300 {
			t.Errorf("behind a gap: %v, time %d", err, s.Clock.Now())
		}
		for _, at := range []clustertime.Tick{now + 500, now + 200} { // the second one is late
			if _, err := f.push(nil, follow.Image{}, at); err != nil || s.Clock.Now() != now+500 ||
				s.RaiseAge() != 900*time.Millisecond {
				t.Errorf("without a command: %v, time %d, last raise %v", err, s.Clock.Now(), s.LastRaise())
			}
		}
		f.end()
		if err := push(7, now+900); !errors.Is(err, refusal.ErrClosed) || s.Roster() != served || s.Clock.Now() != now+500 {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestLogOfAPushedRaise: the log applies a command that was pushed before without serving it again.
func TestLogOfAPushedRaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := formed(t)
		s := state.New(handles.NewExactClock(), handles.NewExactClock())
		f := newFollowed(r.Grid, "", s, nil)
		f.install(follow.Image{At: 5, Roster: r})
		c := roster.Command{From: r.Version, Raise: &roster.Raise{Time: r.Time + 1000}}
		if at, err := f.push([]follow.Entry{{After: 5, At: 6, Command: c}}, follow.Image{}, 0); at != 6 || err != nil ||
			s.LastRaise() != nil {
			t.Fatalf("pushed: %d, %v", at, err)
		}
		served := s.Roster()
		if _, _, err := f.commit(6, c, true); err != nil || s.Roster() != served || f.log().Time != served.Time ||
			s.LastRaise() == nil || s.Clock.Now() != 0 {
			t.Errorf("by the log: %v, last raise %v, time %d", err, s.LastRaise(), s.Clock.Now())
		}
	})
}
