package state_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestRaisesReadAtAStartGiveNoFreshTime: a member that starts applies the raises of the log together, and the
// last of them is up to a tenth of the window old.
func TestRaisesReadAtAStartGiveNoFreshTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := state.New(handles.NewClock(), handles.NewClock())
		s.SetRoster(&roster.Roster{Settings: roster.Settings{Window: clustertime.Span(15_000)}})
		now := clustertime.Tick(1_000_000)
		for range 4 { // from the log
			s.NoteRaise(now)
			now += 1500
		}
		if s.HasFreshTime() {
			t.Error("raises of the log give a fresh time")
		}
		time.Sleep(200 * time.Millisecond)
		s.NoteRaise(now)
		if s.HasFreshTime() {
			t.Error("a raise soon after the log gives a fresh time")
		}
		time.Sleep(1500 * time.Millisecond)
		s.NoteRaise(now + 1500)
		if !s.HasFreshTime() {
			t.Error("a raise in its turn gives no fresh time")
		}
	})
}
