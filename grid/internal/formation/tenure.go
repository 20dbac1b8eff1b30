package formation

import (
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
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
	r := f.state.Roster()
	f.idMu.Lock()
	defer f.idMu.Unlock()
	p := previousGrid{grid: old, claim: r.Claim, settings: r.Settings, sets: r.Sets, dropped: r.Dropped, quotas: r.Quotas, bounds: f.boundsAfter(r)}
	if !r.Formed() {
		p.settings = f.cfg.Settings
	}
	if !r.Formed() && !f.previous.grid.IsZero() {
		p.settings, p.claim, p.sets, p.quotas = f.previous.settings, f.previous.claim, f.previous.sets, f.previous.quotas
		p.dropped = f.previous.dropped
	}
	p.bounds.Sets, p.bounds.Dropped = roster.WithNext(nil, p.sets), p.dropped
	f.previous = p
	f.id.Grid, f.id.Forming, f.id.Accepted = roster.GridID{}, false, Attempt{}
}

// boundsAfter returns this member's bounds on the grants of a grid that it leaves, and of earlier
// grids. The caller has idMu.
func (f *Formation) boundsAfter(r *roster.Roster) wire.AbandonResponse {
	return wire.AbandonResponse{
		Ceiling: max(r.Ceiling, f.previous.bounds.Ceiling),
		Time:    max(r.Time, f.clock.Now(), f.state.Handles.Now(), f.previous.bounds.Time),
		Window:  max(r.Settings.Window, f.previous.bounds.Window),
	}
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
