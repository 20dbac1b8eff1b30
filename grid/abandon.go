package grid

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// What a survivor does that is asked to abandon its grid. See init.go.

// serveAbandon stops this member's grid here for good and binds it to the founder
// of the next.
func (m *Member) serveAbandon(ctx context.Context, in wire.AbandonRequest) (wire.AbandonResponse, error) {
	next := founding{Founder: in.Founder, Grid: in.Grid}
	if in.Old.IsZero() || in.Grid.IsZero() || in.Founder == "" || in.Founder == m.id.Member || in.Expect < 2 || in.Expect > 1000 {
		return wire.AbandonResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: a survivor is asked to leave its grid for a new one, with another founder and 2 to 1000 members")
	}
	if old := m.oldGrid(); old != in.Old {
		return wire.AbandonResponse{}, failure.Errorf(wire.ErrNotAddressed, "grid: this member is of grid %s", old)
	}
	if err := m.initRefused(); err != nil {
		return wire.AbandonResponse{}, err
	}
	if err := m.bind(next); err != nil {
		return wire.AbandonResponse{}, err
	}
	return inBackground(ctx, m, func() (wire.AbandonResponse, error) { return m.abandonGrid(in, next) })
}

// abandonGrid leaves the grid, and answers the same when it has left it already.
func (m *Member) abandonGrid(in wire.AbandonRequest, next founding) (wire.AbandonResponse, error) {
	if err := m.takeTurn(m.ctx); err != nil {
		return wire.AbandonResponse{}, refusal.ErrClosed
	}
	defer m.endTurn()
	if m.oldGrid() != in.Old || m.bound() != next {
		return wire.AbandonResponse{}, errElsewhere
	}
	if !m.hasLeft() {
		m.log.Warn("leaving the grid for good, as its survivors form it anew", "old", in.Old.String(), "new", in.Grid.String(),
			"founder", string(in.Founder))
	}
	if err := m.leaveGrid(in.Expect); err != nil {
		return wire.AbandonResponse{}, err
	}
	m.life.Go(m.gossip.Announce)
	m.idMu.Lock()
	defer m.idMu.Unlock()
	bounds := m.past.bounds
	bounds.Wall = clustertime.TickOf(m.cfg.Clock.Now()) // of now, also when it has left the grid before
	return bounds, nil
}

// bind makes a founding the only one that this member leaves its grid for. It is
// bound to one at a time, until its founder says that it has given that up, or is
// gone.
func (m *Member) bind(next founding) error {
	bound := m.bound()
	switch {
	case bound.Founder == m.id.Member:
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: this member is recovering the grid already; wait for the result")
	case bound != (founding{}) && bound != next && m.seesMember(bound.Founder):
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: member %s is recovering the grid already; use one member only", bound.Founder)
	}
	m.idMu.Lock()
	defer m.idMu.Unlock()
	if m.next != bound {
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: another member is recovering the grid already; use one member only")
	}
	m.next = next
	return nil
}

// unbind frees this member from a founding.
func (m *Member) unbind(f founding) {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	if m.next == f {
		m.next = founding{}
	}
}

// bound returns the founding that this member is bound to, zero for none.
func (m *Member) bound() founding {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	return m.next
}

// hasLeft reports whether this member has left a grid and is in none yet.
func (m *Member) hasLeft() bool {
	grid, left := m.whereabouts()
	return grid.IsZero() && left != ""
}

// whereabouts returns this member's grid, or, if it is in none, the one that it
// has left.
func (m *Member) whereabouts() (grid roster.GridID, left string) {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	if m.id.Grid.IsZero() && !m.past.grid.IsZero() {
		left = m.past.grid.String()
	}
	return m.id.Grid, left
}

// followFounder joins the grid that this member is bound to, or frees it when the
// founder says that it has given that grid up. It never goes back to what it left:
// there it would take back what it agreed to.
func (m *Member) followFounder(ctx context.Context) {
	next := m.bound()
	if next == (founding{}) {
		return
	}
	if p, formed := m.gossip.Find(func(p gossip.Peer) bool { return p.Grid == next.Grid }); formed {
		m.adoptGrid(ctx, p)
		return
	}
	p, alive := m.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == next.Founder })
	if !alive {
		return
	}
	hello, err := m.caller.Hello(ctx, p.API, p.Incarnation)
	if err == nil && hello.Grid != next.Grid && hello.Founding != next.Grid {
		m.unbind(next)
	}
}

// notFollowed says why a member that has left a grid is in no other yet.
func (m *Member) notFollowed(left roster.GridID, next founding) error {
	if next == (founding{}) {
		return fmt.Errorf("this member has left grid %s so that it is formed anew, which was given up; run `snowgrid init --force --addr %s`, or restart this member",
			left, m.addrs.API)
	}
	return fmt.Errorf("this member has left grid %s and waits for member %s to form it anew; if that is gone for good, run `snowgrid init --force --addr %s`; %s",
		left, next.Founder, m.addrs.API, m.gossip.Seen())
}
