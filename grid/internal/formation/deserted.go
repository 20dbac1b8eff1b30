package formation

import (
	"context"
	"slices"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// The bootstrap member may crash before the other survivors join it. They have left
// the grid then, or are in the successor without its roster. In an anchored grid they need no operator:
// they join a successor that another survivor has formed, or form one. No earlier grant is
// above the limit in the anchor's record, and each successor begins above it (A7).

// HeldAnchor reports whether the anchor bounds all grants of this member's grid and of its earlier ones.
func (b *bindings) HeldAnchor() bool {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	r := b.state.Roster()
	return r.Claim != "" || b.previous.Claim != "" && (!r.Formed() || r.Anchored)
}

// Deserted reports whether this member has left its grid and no other one forms the next, or is in a grid
// without its roster.
func (f *Formation) Deserted() bool {
	if f.hasLeft() {
		next := f.bound()
		return next == (Attempt{}) || !f.seesMember(next.BootstrapMember)
	}
	return !f.Grid().IsZero() && !f.state.Roster().Formed()
}

// LastWindow returns this member's largest window, its earlier grids included.
func (b *bindings) LastWindow() clustertime.Span {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	return max(b.state.Roster().Settings.Window, b.previous.Bounds.Window)
}

// SurvivorsBefore counts the survivors in gossip whose turn to form the next grid is before this member's.
// Those with a roster are first, since they can judge whether the grid is over; a process that has not
// joined it yet cannot. A member that has left the grid, or has no roster, comes after all that are in it.
func (f *Formation) SurvivorsBefore() (n int) {
	r, deserted := f.state.Roster(), f.Deserted()
	for _, p := range f.survivors(f.oldGrid()) {
		_, member := r.Member(p.Incarnation)
		inGrid := p.Left == "" && (member || deserted)
		switch lower := p.Incarnation < f.self; {
		case deserted && inGrid && lower:
			n += 2
		case deserted && (inGrid || lower), inGrid && lower:
			n++
		}
	}
	return n
}

// joinSuccessor joins the only grid in gossip, which other survivors have formed without this member.
// A member joins no grid again, since its votes there are lost.
func (f *Formation) joinSuccessor(ctx context.Context) {
	if !f.HeldAnchor() || len(f.gossip.Grids()) != 1 {
		return
	}
	p, found := f.gossip.Find(func(p gossip.Peer) bool { return !p.Grid.IsZero() && p.Incarnation != f.self })
	if !found || f.wasIn(p.Grid) {
		return
	}
	if hello, err := f.caller.Hello(ctx, p.API, p.Incarnation); err == nil && hello.Claim != "" {
		f.log.Warn("joining the grid that other survivors have formed", "grid", p.Grid.String())
		f.adoptGrid(ctx, p)
	}
}

// isAbandonedHere reports whether this member is in a successor without its roster, and has seen no member with the
// roster for acceptanceLives. Gossip refuses members from another grid, so it has to leave this one before it can
// join other survivors. The caller has the turn.
func (f *Formation) isAbandonedHere(ctx context.Context) bool {
	grid := f.Grid()
	if grid.IsZero() || !f.HeldAnchor() || !f.Deserted() {
		return false
	}
	alive := slices.ContainsFunc(f.gossip.Peers(), func(p gossip.Peer) bool {
		if p.Grid != grid || p.Incarnation == f.self {
			return false
		}
		hello, err := f.caller.Hello(ctx, p.API, p.Incarnation)
		return err == nil && hello.Grid == grid && hello.Version > 0
	})
	return f.successorLapse.lapsed(Attempt{Grid: grid}, alive, f.clock.Mono())
}

func (b *bindings) wasIn(g roster.GridID) bool {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	return slices.Contains(b.left, g)
}
