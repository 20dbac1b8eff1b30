package formation

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A survivor's part in a recovery: it leaves its grid on request.

// Abandon stops this member's grid here for good and binds it to the bootstrap member
// of the next.
func (f *Formation) Abandon(ctx context.Context, in wire.AbandonRequest) (wire.AbandonResponse, error) {
	next := Attempt{BootstrapMember: in.BootstrapMember, Grid: in.Grid}
	if in.Old.IsZero() || in.Grid.IsZero() || in.BootstrapMember == "" || in.BootstrapMember == f.id.Member ||
		in.Expect < 2 || in.Expect > roster.MaxExpect {
		return wire.AbandonResponse{}, failure.Errorf(wire.ErrBadRequest,
			"grid: a survivor leaves its grid for a new one: give another bootstrap member and 2 to %d members",
			roster.MaxExpect)
	}
	if old := f.oldGrid(); old != in.Old {
		return wire.AbandonResponse{}, failure.Errorf(wire.ErrNotAddressed, "grid: this member belongs to grid %s", old)
	}
	if err := f.initRefused(); err != nil {
		return wire.AbandonResponse{}, err
	}
	if err := f.bind(next); err != nil {
		return wire.AbandonResponse{}, err
	}
	return inBackground(ctx, f.life, func() (wire.AbandonResponse, error) { return f.abandonGrid(in, next) })
}

// abandonGrid leaves the grid, and answers the same when it has left it already.
func (f *Formation) abandonGrid(in wire.AbandonRequest, next Attempt) (wire.AbandonResponse, error) {
	if err := f.takeTurn(f.ctx); err != nil {
		return wire.AbandonResponse{}, refusal.ErrClosed
	}
	defer f.endTurn()
	if f.oldGrid() != in.Old || f.bound() != next {
		return wire.AbandonResponse{}, errElsewhere
	}
	if !f.hasLeft() {
		f.log.Warn("leaving the grid permanently: the survivors form a new one", "old", in.Old.String(), "new",
			in.Grid.String(),
			"bootstrap_member", string(in.BootstrapMember))
	}
	if err := f.leaveGrid(in.Expect); err != nil {
		return wire.AbandonResponse{}, err
	}
	f.life.Go(func() { f.gossip.Announce(f.ctx) })
	f.idMu.Lock()
	defer f.idMu.Unlock()
	bounds := wire.AbandonResponse(f.previous.Bounds)
	bounds.Wall = clustertime.TickOf(f.cfg.Clock.Now()) // of now, also when it has left the grid before
	return bounds, nil
}

// bind commits this member to leave its grid only for one attempt, until that attempt's bootstrap
// member has given it up or is gone.
func (b *bindings) bind(next Attempt) error {
	bound := b.bound()
	switch {
	case bound.BootstrapMember == b.id.Member:
		return failure.Errorf(wire.ErrNotNow,
			"grid: recovery refused: this member is already recovering the grid; wait for the result")
	case bound != (Attempt{}) && bound != next && b.seesMember(bound.BootstrapMember):
		return failure.Errorf(wire.ErrNotNow,
			"grid: recovery refused: member %s is already recovering the grid; use one member only", bound.BootstrapMember)
	}
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if b.next != bound {
		return failure.Errorf(wire.ErrNotNow,
			"grid: recovery refused: another member is already recovering the grid; use one member only")
	}
	b.next = next
	return nil
}

func (b *bindings) unbind(to Attempt) {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if b.next == to {
		b.next = Attempt{}
	}
}

func (b *bindings) bound() Attempt {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	return b.next
}

// hasLeft reports whether this member has left a grid and is in none yet.
func (b *bindings) hasLeft() bool {
	grid, left := b.Whereabouts()
	return grid.IsZero() && left != ""
}

// Whereabouts returns this member's grid, or, without one, the grid that it has left.
func (b *bindings) Whereabouts() (grid roster.GridID, left string) {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if b.id.Grid.IsZero() && !b.previous.Grid.IsZero() {
		left = b.previous.Grid.String()
	}
	return b.id.Grid, left
}

// followAttempt joins the grid that this member is bound to, or frees the member when the bootstrap
// member has given that grid up. The member never rejoins the grid it left: that would break its
// promise.
func (f *Formation) followAttempt(ctx context.Context) {
	next := f.bound()
	if next == (Attempt{}) {
		f.joinSuccessor(ctx)
		return
	}
	if p, formed := f.gossip.Find(func(p gossip.Peer) bool { return p.Grid == next.Grid }); formed {
		f.adoptGrid(ctx, p)
		return
	}
	p, alive := f.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == next.BootstrapMember })
	if !alive {
		f.joinSuccessor(ctx)
		return
	}
	hello, err := f.caller.Hello(ctx, p.API, p.Incarnation)
	if err == nil && hello.Grid != next.Grid && hello.AttemptedGrid != next.Grid {
		f.unbind(next)
	}
}

// notFollowed returns the reason that a member without its old grid has not joined the new one.
func (f *Formation) notFollowed(left roster.GridID, next Attempt) error {
	_, runs := f.gossip.Grids()[left]
	switch {
	case runs && f.Deserted():
		return fmt.Errorf("this member has left grid %s for a recovery that was aborted, and its votes there are lost; "+
			"if that grid has a leader, restart this member", left)
	case f.HeldAnchor() && f.Deserted():
		return fmt.Errorf("this member has left grid %s, and no other member forms the next one; it joins or forms one by "+
			"itself "+
			"when the anchor has not been extended for long enough; %s", left, f.gossip.Seen())
	case next == (Attempt{}):
		return fmt.Errorf("this member has left grid %s for a recovery that was aborted; run `snowgrid init --force --addr "+
			"%s`, or restart this member",
			left, f.cfg.Record().API)
	}
	return fmt.Errorf("this member has left grid %s and waits for member %s to form the new grid; if that member is "+
		"lost permanently, run `snowgrid init --force --addr %s`; %s",
		left, next.BootstrapMember, f.cfg.Record().API, f.gossip.Seen())
}
