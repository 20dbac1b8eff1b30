package formation

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Accept accepts a bootstrap member, unless this member is configured otherwise: then the
// bootstrap member is refused, and this member continues.
func (f *Formation) Accept(_ context.Context, in wire.AcceptRequest) (wire.AcceptResponse, error) {
	if err := in.Settings.Differs(f.cfg.Stated); err != nil {
		if f.boot.hinder(fmt.Sprintf("member %.16s would form it with other settings: %v", in.BootstrapMember, err),
			f.clock.Mono()) {
			f.log.Warn("bootstrap member refused: its settings differ", "bootstrap_member", string(in.BootstrapMember),
				"error", err)
		}
		return wire.AcceptResponse{}, failure.Errorf(wire.ErrSettingsConflict,
			"grid: bootstrap member refused: conflicting settings: %w", err)
	}
	if in.BootstrapMember == "" || in.Grid.IsZero() {
		return wire.AcceptResponse{}, failure.Errorf(wire.ErrBadRequest,
			"grid: a bootstrap member and a grid ID are required")
	}
	if err := f.bindTo(Attempt{BootstrapMember: in.BootstrapMember, Grid: in.Grid}); err != nil {
		return wire.AcceptResponse{}, err
	}
	return wire.AcceptResponse{Member: f.id.Member, Durable: f.cfg.DataDir != "",
		Wall: clustertime.TickOf(f.cfg.Clock.Now()), Release: wire.OwnRelease()}, nil
}

// bindTo binds this member to an attempt, on disk before it replies.
func (b *bindings) bindTo(to Attempt) error {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	switch {
	case !b.id.Grid.IsZero():
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member is already in grid %s", b.id.Grid)
	case !b.previous.Grid.IsZero():
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member has left grid %s for a recovery", b.previous.Grid)
	case b.id.Accepted == to:
		return nil
	case b.id.Accepted != Attempt{}:
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member has accepted member %s as bootstrap member",
			b.id.Accepted.BootstrapMember)
	}
	before := b.id.Accepted
	b.id.Accepted = to
	if err := b.id.Save(); err != nil {
		b.id.Accepted = before // an acceptance counts only on disk
		b.state.Fail(refusal.Invalid("DataDir: %v", err))
		return err
	}
	return nil
}

// releaseAcceptance frees this member from an attempt that its bootstrap member has given up, or if
// that member has been absent too long.
func (f *Formation) releaseAcceptance(ctx context.Context) {
	f.idMu.Lock()
	bound := f.id.Accepted
	f.idMu.Unlock()
	if bound == (Attempt{}) {
		return
	}
	if bound.BootstrapMember == f.id.Member {
		f.mu.Lock()
		given := f.attempted != bound.Grid
		f.mu.Unlock()
		if given {
			f.release(bound)
		}
		return
	}
	p, alive := f.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == bound.BootstrapMember })
	if f.attemptLapse.lapsed(bound, alive, f.clock.Mono()) {
		f.log.Warn("acceptance expired: bootstrap member not seen", "bootstrap_member", string(bound.BootstrapMember),
			"for", acceptanceLives)
		f.release(bound)
	}
	if !alive {
		return
	}
	hello, err := f.caller.Hello(ctx, p.API, p.Incarnation)
	if err == nil && hello.Grid.IsZero() && hello.AttemptedGrid != bound.Grid {
		f.release(bound)
	}
}

func (b *bindings) release(to Attempt) {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if b.id.Accepted != to || !b.id.Grid.IsZero() {
		return
	}
	b.id.Accepted = Attempt{}
	if err := b.id.Save(); err != nil {
		b.id.Accepted = to
	}
}
