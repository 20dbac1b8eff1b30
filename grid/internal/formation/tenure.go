package formation

import (
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// leaveGrid ends this member's part in its grid permanently, if it is in one, and sets
// the number of members that form the next. All grants of the grid's owners here end below
// the ceiling that is recorded then. The caller has the turn.
func (f *Formation) leaveGrid(expect int) error {
	if old := f.Grid(); !old.IsZero() {
		f.endTenure()
		if f.ctx.Err() != nil {
			return refusal.ErrClosed
		}
		f.notePrevious(old)
		f.nextTenure()
	}
	f.setExpect(expect)
	f.gossip.SetGrid(roster.GridID{})
	return nil
}

// endTenure stops Raft first, so that no later ceiling arrives, and then everything that grants by it.
func (f *Formation) endTenure() {
	f.raft.Leave()
	f.life.Tenure().End()
}

// notePrevious records the limits of the grid that was left.
func (f *Formation) notePrevious(old roster.GridID) {
	f.idMu.Lock()
	defer f.idMu.Unlock()
	f.previous = f.previous.Leave(old, f.state.Roster(), f.latestTime(), f.cfg.Settings)
	f.id.Grid, f.id.Forming, f.id.Accepted = roster.GridID{}, false, Attempt{}
}

// latestTime returns the latest cluster time that this member or a handle of its own has.
func (f *Formation) latestTime() clustertime.Tick {
	return max(f.clock.Now(), f.state.Handles.Now())
}

// nextTenure resets this member to one that has never been in a grid, except for its own handles and
// its time bounds.
func (f *Formation) nextTenure() {
	f.raft.Reset()
	f.forget()
}

// forget begins another tenure, without a roster and without tables.
func (f *Formation) forget() {
	f.boot.clear()
	f.state.Reset()
	f.mu.Lock()
	f.attempted = roster.GridID{}
	f.cfg.Reset()
	f.life.Next()
	f.mu.Unlock()
	f.life.Background(f.cfg.Lead)
	f.state.Notify()
}

// setExpect sets the number of members that form the next grid.
func (f *Formation) setExpect(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = n
}
