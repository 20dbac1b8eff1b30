package grid

import (
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// leaveGrid ends this member's part in its grid for good, if it is in one, and
// says how many form the next. What the grid's owners here have granted ends below
// the ceiling that is noted then. The caller has the turn.
func (m *Member) leaveGrid(expect int) error {
	if old := m.grid(); !old.IsZero() {
		m.endStay()
		if m.ctx.Err() != nil {
			return refusal.ErrClosed
		}
		m.notePast(old)
		m.beginStay()
	}
	m.setExpect(expect)
	m.gossip.SetGrid(roster.GridID{})
	return nil
}

// endStay ends the agreement first, so that no later ceiling is heard of, and then
// everything that grants by it.
func (m *Member) endStay() {
	m.raft.Leave()
	m.life.Tenure().End()
}

// notePast keeps what is known of the grid that was left.
func (m *Member) notePast(old roster.GridID) {
	r := m.state.Roster()
	m.idMu.Lock()
	defer m.idMu.Unlock()
	p := past{grid: old, settings: r.Settings, bounds: wire.AbandonResponse{
		Ceiling: max(r.Ceiling, m.past.bounds.Ceiling),
		Time:    max(r.Time, m.clock.Now(), m.holds.Now(), m.past.bounds.Time),
		Window:  max(r.Settings.Window, m.past.bounds.Window),
	}}
	if !r.Formed() {
		p.settings = m.cfg.settings()
	}
	if !r.Formed() && !m.past.grid.IsZero() {
		p.settings = m.past.settings
	}
	m.past = p
	m.id.Grid, m.id.Forming, m.id.Accepted = roster.GridID{}, false, founding{}
}

// beginStay makes this member one that has never been in a grid, but for its own
// handles and what it knows of time.
func (m *Member) beginStay() {
	m.raft.Reset()
	m.boot.clear()
	m.state.Reset()
	m.mu.Lock()
	m.trial = roster.GridID{}
	m.wasReady.Store(false)
	m.host.Reset()
	m.life.Next()
	m.mu.Unlock()
	m.life.Background(m.runLead)
	m.state.Notify()
}

// setExpect says how many members form the next grid.
func (m *Member) setExpect(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cfg.Expect = n
}
