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
func (d *deps) endTenure() {
	d.raft.Leave()
	d.life.Tenure().End()
}

// notePrevious records the limits of the grid that was left.
func (b *bindings) notePrevious(old roster.GridID) {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	b.previous = b.previous.Leave(old, b.state.Roster(), b.latestTime(), b.cfg.Settings)
	b.left = append(b.left, old)
	b.id.Grid, b.id.Forming, b.id.Accepted = roster.GridID{}, false, Attempt{}
}

// latestTime returns the latest cluster time that this member or a handle of its own has.
func (d *deps) latestTime() clustertime.Tick {
	return max(d.clock.Now(), d.state.Handles.Now())
}

// nextTenure resets this member to a state before its first grid, except for its own handles and
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

func (a *attempts) setExpect(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expected = n
}
