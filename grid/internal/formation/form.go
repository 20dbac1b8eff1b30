package formation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// How a member comes into a grid:
//
//	no grid --- another member has one ------------------------> joining
//	   |                                                            ^
//	   +-- Expect members without grid are seen, this is the        |
//	       lowest that forms one (its Expect is not 0),             |
//	       and Expect of them accept it --------------> bootstraps -+
//
// A member accepts one attempt to form a grid at a time, and another only after the
// bootstrap member of the first has reported that it gave that one up.

const enterEvery = 100 * time.Millisecond

// Run brings the member into its grid and keeps it there. A step that has led further is
// followed by the next one; else a step is taken at each tick and, while the member waits for
// news of a grid, when there is news. A member that is in touch with its grid takes a step when
// there is news, or when it may be out of touch.
func (f *Formation) Run(ctx context.Context) {
	timer := time.NewTimer(enterEvery)
	defer timer.Stop()
	ticking := true // the timer is at the next tick
	for ticked := false; ctx.Err() == nil; {
		changed := f.state.Changed()
		after := nextTick
		if f.takeTurn(ctx) == nil {
			after = f.enterStep(ctx, ticked)
			f.endTurn()
		}
		ticked = false
		switch {
		case after == atOnce:
			continue
		case after == inTouch:
			timer.Reset(f.untilOutOfTouch())
			ticking = false
		case !ticking:
			timer.Reset(enterEvery)
			ticking = true
		}
		if after == nextTick {
			changed = nil
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
			ticked, ticking = true, false
		case <-changed:
		}
	}
}

// wait selects the trigger of the next step into a grid.
type wait uint8

const (
	nextTick wait = iota
	nextNews      // or at the next tick
	inTouch       // at news, or when the leader may have been silent for too long
	atOnce
)

// enterStep takes the next step into a grid, at a tick or between two.
func (f *Formation) enterStep(ctx context.Context, ticked bool) wait {
	switch {
	case f.boot.failure() != nil:
		f.giveUp(f.boot.failure())
	case f.isAbandonedHere(ctx):
		f.log.Warn("leaving a grid whose roster was never received: no member that has it is seen", "grid",
			f.Grid().String())
		if err := f.leaveGrid(f.Expect()); err != nil {
			return nextTick
		}
		f.life.Go(func() { f.gossip.Announce(f.ctx) })
	case f.raft.TakesPart():
		return f.askToJoin(ctx)
	case !f.Grid().IsZero():
		if f.takePart(); f.raft.TakesPart() {
			return atOnce
		}
	case f.hasLeft():
		f.followAttempt(ctx)
	default:
		return f.seekGrid(ctx, ticked)
	}
	return nextTick
}

// takeTurn waits until nothing else brings this member into a grid or out of one.
func (f *Formation) takeTurn(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Formation) endTurn() { <-f.turn }

// Reopen rejoins the grid named by the data directory.
func (f *Formation) Reopen() error {
	if f.id.Grid.IsZero() {
		return nil
	}
	return f.raft.Start(f.Grid(), false)
}

// seekGrid looks for a grid to join, or forms one. Before a tick it joins the only grid that is
// seen if no address is left at which another may be.
func (f *Formation) seekGrid(ctx context.Context, ticked bool) wait {
	if len(f.gossip.Grids()) > 1 { // the operator has to choose one
		f.giveUpAttempt()
		return nextTick
	}
	if p, found := f.gossip.Find(func(p gossip.Peer) bool { return !p.Grid.IsZero() && p.Incarnation != f.self }); found {
		if !ticked && !f.gossip.Searched() {
			return nextNews
		}
		return f.adoptGrid(ctx, p)
	}
	f.releaseAcceptance(ctx)
	peers := f.gossip.Peers()
	if expect := f.Expect(); expect == 0 || len(peers) < expect || !f.isFirst(peers) {
		f.giveUpAttempt()
		if len(peers) > 1 {
			return nextTick // the others have no grid either
		}
		return nextNews
	}
	if err := f.formGrid(ctx, peers); err != nil && f.boot.hinder(err.Error(), f.clock.Mono()) {
		f.log.Warn("grid not formed yet", "error", err)
	}
	return nextTick
}

// isFirst reports whether this member is the lowest among the peers that may form a grid. The others
// wait for it, so a member that may not form one is skipped.
func (d *deps) isFirst(peers []gossip.Peer) bool {
	i := slices.IndexFunc(peers, func(p gossip.Peer) bool { return !p.FormsNone })
	return i >= 0 && peers[i].Incarnation == d.self
}

// adoptGrid makes the grid of a peer this member's, unless their settings differ.
func (f *Formation) adoptGrid(ctx context.Context, p gossip.Peer) wait {
	hello, err := f.caller.Hello(ctx, p.API, p.Incarnation)
	if err != nil || hello.Grid != p.Grid {
		return nextTick
	}
	if hello.Version > 0 {
		if err := SameSettings(hello.Settings, f.cfg.Stated); err != nil {
			f.state.Fail(err)
			return nextTick
		}
	} else {
		f.boot.hinder(fmt.Sprintf("grid %s at %s has no roster: its bootstrap member has not started, or its quorum is "+
			"lost; see its status", p.Grid, p.API), 0)
		return nextTick
	}
	if err := f.belong(p.Grid, false); err != nil {
		f.state.Fail(err)
		return nextTick
	}
	if f.takePart(); f.raft.TakesPart() {
		return atOnce
	}
	return nextTick
}

// belong stores a grid as this member's on disk before any further step. A member forming the grid is
// marked so until the first entry is in the log.
func (b *bindings) belong(g roster.GridID, forming bool) error {
	b.idMu.Lock()
	b.id.Grid, b.id.Forming = g, forming
	b.next = Attempt{}
	err := b.id.Save()
	b.idMu.Unlock()
	b.gossip.SetGrid(g)
	return err
}

// NoteFormed notes that the roster's first entry is in the log, before anything else
// follows it there: from now on the log must not be lost.
func (b *bindings) NoteFormed() error {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if !b.id.Forming {
		return nil
	}
	b.id.Forming = false
	if err := b.id.Save(); err != nil {
		b.id.Forming = true
		return err
	}
	return nil
}

func (f *Formation) takePart() {
	if err := f.raft.Start(f.Grid(), false); err != nil {
		f.state.Fail(err)
		return
	}
	f.life.Go(func() { f.gossip.Announce(f.ctx) })
}

// formGrid requests acceptance from all members, and forms the grid after Expect acceptances.
func (f *Formation) formGrid(ctx context.Context, peers []gossip.Peer) error {
	grid := f.attempt()
	if err := f.bindTo(Attempt{BootstrapMember: f.id.Member, Grid: grid}); err != nil {
		return err
	}
	req := wire.AcceptRequest{BootstrapMember: f.id.Member, Grid: grid, Settings: f.cfg.Settings}
	accepted, err := f.askAcceptances(ctx, peers, req)
	if expect := f.Expect(); 1+len(accepted.others) < expect {
		return fmt.Errorf("%d of %d members accept this bootstrap member: %w", 1+len(accepted.others), expect, err)
	}
	begins, err := f.beginning(accepted)
	f.boot.compared(err)
	if err != nil {
		return err
	}
	begins.FirstLife, begins.Floor, begins.Anchored = f.cfg.FirstLife, floorOf(f.cfg.Floor), f.cfg.Anchored
	f.warnOfBeginning(begins)
	form := roster.Form{Grid: grid, Settings: req.Settings, Ceiling: begins.First(), Durable: accepted.durable,
		Anchored: f.cfg.Anchored}
	if err := f.formAs(form, accepted, f.Expect()-1); err != nil {
		f.state.Fail(err)
		return err
	}
	return nil
}

// beginning returns the knowledge of members that accept each other about earlier runs.
func (q *polls) beginning(accepted acceptances) (clustertime.Beginning, error) {
	median, latest, err := clustertime.Clocks(accepted.readings)
	if err != nil {
		return clustertime.Beginning{}, fmt.Errorf("grid not formed: %w", err)
	}
	return clustertime.Beginning{Median: median, Latest: latest, Window: q.cfg.Settings.Window,
		Durable: accepted.durable}, nil
}

func floorOf(t time.Time) clustertime.Tick {
	if t.IsZero() {
		return 0
	}
	return clustertime.TickOf(t)
}

// warnOfBeginning logs the assumptions of a new grid about earlier ones.
func (d *deps) warnOfBeginning(b clustertime.Beginning) {
	switch {
	case d.cfg.Lone, b.FirstLife, b.Anchored, b.NoHolder && b.Floor > 0: // logged elsewhere
	case b.Durable:
		d.log.Warn("new grid on empty data directories: IDs begin now; make sure that no process still holds logical nodes "+
			"from an earlier grid, "+
			"for example one without data directories", "median_clock", b.Median.Time())
	default:
		d.log.Warn("new grid without data directories: IDs begin after a wait, so that IDs from an earlier grid are not "+
			"issued again; "+
			"if the earlier grid had a larger window, or clocks that were ahead, use `snowgrid init --floor`",
			"wait", b.First().Sub(b.Latest).Duration(), "latest_clock", b.Latest.Time(), "window", b.Window.Duration())
	}
}

// FormAlone forms the grid of a member that runs alone.
func (f *Formation) FormAlone() error {
	b := clustertime.Beginning{Median: f.reading().At, Latest: f.reading().At, Durable: true, Floor: floorOf(f.cfg.Floor)}
	return f.formAs(roster.Form{Grid: NewGridID(), Settings: f.cfg.Settings, Ceiling: b.First(),
		Durable: f.cfg.DataDir != "", Anchored: f.cfg.Anchored}, acceptances{}, 0)
}

// formAs starts a grid with this member as its first server. It writes the roster's first entry once
// it leads and enough of the accepting members have confirmed.
func (f *Formation) formAs(form roster.Form, accepted acceptances, need int) error {
	if err := f.belong(form.Grid, true); err != nil {
		return err
	}
	f.boot.begin(form, accepted, need, f.clock.Mono())
	f.log.Info("forming the grid", "grid", form.Grid.String(), "first_timestamp", form.Ceiling.Time())
	err := f.raft.Start(f.Grid(), true)
	if err == nil && !f.cfg.Lone {
		f.life.Go(func() { f.gossip.Announce(f.ctx) })
	}
	return err
}

func (a *attempts) attempt() roster.GridID {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempted.IsZero() {
		a.attempted = NewGridID()
	}
	return a.attempted
}

// GridAndAttempt returns this member's grid, and the grid that it tries to form, both at one moment: while it
// enters a grid that it has attempted, one of the two is that grid. Zero is none.
func (f *Formation) GridAndAttempt() (grid, attempted roster.GridID) {
	f.idMu.Lock()
	defer f.idMu.Unlock()
	if f.next.BootstrapMember == f.id.Member {
		return f.id.Grid, f.next.Grid
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id.Grid, f.attempted
}

// giveUpAttempt gives up the present attempt permanently: its acceptances no longer count,
// and hello reports that.
func (a *attempts) giveUpAttempt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attempted = roster.GridID{}
}

// Expect returns how many members form the grid. It changes only while this
// member leads no grid, so that a leader reads it without a lock.
func (a *attempts) Expect() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.expected
}

// SameSettings refuses settings of a grid that differ from stated ones.
func SameSettings(agreed, stated roster.Settings) error {
	if err := agreed.Differs(stated); err != nil {
		return refusal.Invalid("%v", err)
	}
	return nil
}

// Grid returns the ID of the grid that the member belongs to, zero for none.
func (b *bindings) Grid() roster.GridID {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	return b.id.Grid
}
