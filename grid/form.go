package grid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// How a member comes into a grid:
//
//	no grid --- somebody has one ------------------------------> joining
//	   |                                                            ^
//	   +-- Expect members without grid are seen, I am the lowest,   |
//	       and Expect of them accept me as founder ---> founder ----+
//
// A member accepts one founding at a time, and another only after the founder of
// the first has itself said that it gave that one up.

const (
	enterEvery = 100 * time.Millisecond
)

// enter brings the member into its grid and keeps it there.
func (m *Member) enter(ctx context.Context) {
	ticker := time.NewTicker(enterEvery)
	defer ticker.Stop()
	for {
		if m.takeTurn(ctx) == nil {
			m.enterStep(ctx)
			m.endTurn()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// enterStep does what is due to be in a grid.
func (m *Member) enterStep(ctx context.Context) {
	switch {
	case m.boot.failure() != nil:
		m.giveUp(m.boot.failure())
	case m.raft.TakesPart():
		m.askToJoin(ctx)
	case !m.grid().IsZero():
		m.takePart()
	case m.hasLeft():
		m.followFounder(ctx)
	default:
		m.seekGrid(ctx)
	}
}

// takeTurn waits until nothing else brings this member into a grid or out of one.
func (m *Member) takeTurn(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Member) endTurn() { <-m.turn }

// reopen takes part again in the grid that the data directory knows.
func (m *Member) reopen() error {
	if m.id.Grid.IsZero() {
		return nil
	}
	return m.raft.Start(m.grid(), false)
}

// seekGrid looks for a grid to join, or forms one.
func (m *Member) seekGrid(ctx context.Context) {
	if len(m.gossip.Grids()) > 1 { // which of them is meant only a person can know
		m.abandon()
		return
	}
	if p, found := m.gossip.Find(func(p gossip.Peer) bool { return !p.Grid.IsZero() && p.Incarnation != m.self }); found {
		m.adoptGrid(ctx, p)
		return
	}
	m.releaseAcceptance(ctx)
	peers := m.gossip.Peers()
	if expect := m.expect(); expect == 0 || len(peers) < expect || peers[0].Incarnation != m.self {
		m.abandon()
		return
	}
	if err := m.found(ctx, peers); err != nil && m.boot.hinder(err.Error(), m.clock.Mono()) {
		m.log.Warn("grid not formed yet", "error", err)
	}
}

// adoptGrid makes the grid of a peer this member's, unless their settings differ.
func (m *Member) adoptGrid(ctx context.Context, p gossip.Peer) {
	hello, err := m.caller.Hello(ctx, p.API, p.Incarnation)
	if err != nil || hello.Grid != p.Grid {
		return
	}
	if hello.Version > 0 {
		if err := m.sameSettings(hello.Settings); err != nil {
			m.state.Fail(err)
			return
		}
	} else {
		m.boot.hinder(fmt.Sprintf("grid %s at %s has no roster: its founder has not begun, or its majority is lost; its status says which", p.Grid, p.API), 0)
		return
	}
	if err := m.belong(p.Grid, false); err != nil {
		m.state.Fail(err)
		return
	}
	m.takePart()
}

// belong makes a grid this member's, on disk before anything else follows. If it is
// forming the grid, the identity says so until the first entry is in the log.
func (m *Member) belong(g roster.GridID, forming bool) error {
	m.idMu.Lock()
	m.id.Grid, m.id.Forming = g, forming
	m.next = founding{}
	err := m.id.save()
	m.idMu.Unlock()
	m.gossip.SetGrid(g)
	return err
}

// formed notes that the roster's first entry is in the log, before anything else
// follows it there: from now on the log must not be lost.
func (m *Member) formed() error {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	if !m.id.Forming {
		return nil
	}
	m.id.Forming = false
	if err := m.id.save(); err != nil {
		m.id.Forming = true
		return err
	}
	return nil
}

// takePart starts Raft and lets everybody know.
func (m *Member) takePart() {
	if err := m.raft.Start(m.grid(), false); err != nil {
		m.state.Fail(err)
		return
	}
	m.life.Go(m.gossip.Announce)
}

// found asks everybody for acceptance, and forms the grid if Expect gave it.
func (m *Member) found(ctx context.Context, peers []gossip.Peer) error {
	grid := m.attempt()
	if err := m.accept(founding{Founder: m.id.Member, Grid: grid}); err != nil {
		return err
	}
	req := wire.AcceptRequest{Founder: m.id.Member, Grid: grid, Settings: m.cfg.settings()}
	accepted, err := m.askAcceptances(ctx, peers, req)
	if expect := m.expect(); 1+len(accepted.others) < expect {
		return fmt.Errorf("%d of %d members accept this founder: %w", 1+len(accepted.others), expect, err)
	}
	begins, err := m.beginning(accepted)
	if err != nil {
		return err
	}
	begins.FirstLife, begins.Floor = m.cfg.FirstLife, floorOf(m.cfg.Floor)
	m.warnOfBeginning(begins)
	form := roster.Form{Grid: grid, Settings: req.Settings, Ceiling: begins.First(), Durable: accepted.durable}
	if err := m.formAs(form, accepted, m.expect()-1); err != nil {
		m.state.Fail(err)
		return err
	}
	return nil
}

// beginning is what members that accept each other know about earlier lives.
func (m *Member) beginning(accepted acceptances) (clustertime.Beginning, error) {
	median, latest, err := clustertime.Clocks(accepted.readings)
	if err != nil {
		return clustertime.Beginning{}, fmt.Errorf("the grid is not formed: %w", err)
	}
	return clustertime.Beginning{Median: median, Latest: latest, Window: m.cfg.settings().Window, Durable: accepted.durable}, nil
}

// floorOf returns a configured floor, 0 for none.
func floorOf(t time.Time) clustertime.Tick {
	if t.IsZero() {
		return 0
	}
	return clustertime.TickOf(t)
}

// warnOfBeginning tells what a new grid cannot know.
func (m *Member) warnOfBeginning(b clustertime.Beginning) {
	switch {
	case m.lone, b.FirstLife, b.NoHolder && b.Floor > 0: // said elsewhere
	case b.Durable:
		m.log.Warn("new grid on empty data directories: IDs begin now, so no process may still hold logical nodes of an earlier life, "+
			"one without data directories for example", "median_clock", instant(b.Median))
	default:
		m.log.Warn("new grid without data directories: IDs begin after a wait, so that those of an earlier life are not issued again; "+
			"an earlier life with a larger window, or under clocks that were ahead, needs `snowgrid init --floor`",
			"wait", b.First().Sub(b.Latest).Duration(), "latest_clock", instant(b.Latest), "window", b.Window.Duration())
	}
}

// formLone forms the grid of a member that runs alone.
func (m *Member) formLone() error {
	b := clustertime.Beginning{Median: m.reading().At, Latest: m.reading().At, Durable: true, Floor: floorOf(m.cfg.Floor)}
	return m.formAs(roster.Form{Grid: newGridID(), Settings: m.cfg.settings(), Ceiling: b.First(), Durable: m.cfg.DataDir != ""}, acceptances{}, 0)
}

// formAs begins a grid with this member as its first server. The roster's first entry
// follows when it leads, and enough of those that accepted confirm it.
func (m *Member) formAs(form roster.Form, accepted acceptances, need int) error {
	if err := m.belong(form.Grid, true); err != nil {
		return err
	}
	m.boot.begin(form, accepted, need, m.clock.Mono())
	m.log.Info("forming the grid", "grid", form.Grid.String(), "first_timestamp", instant(form.Ceiling))
	err := m.raft.Start(m.grid(), true)
	if err == nil && !m.lone {
		m.life.Go(m.gossip.Announce)
	}
	return err
}

// attempt returns the grid this member tries to form, new after each abandon.
func (m *Member) attempt() roster.GridID {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trial.IsZero() {
		m.trial = newGridID()
	}
	return m.trial
}

// foundingGrid returns the grid that this member tries to form, zero for none.
func (m *Member) foundingGrid() roster.GridID {
	if next := m.bound(); next.Founder == m.id.Member {
		return next.Grid
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trial
}

// abandon gives up the founding under way, for good: acceptances of it count no
// more, and hello tells so.
func (m *Member) abandon() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trial = roster.GridID{}
}

// accept binds this member to a founding, on disk before it says so.
func (m *Member) accept(f founding) error {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	switch {
	case !m.id.Grid.IsZero():
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member is in grid %s already", m.id.Grid)
	case !m.past.grid.IsZero():
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member has left grid %s to form it anew", m.past.grid)
	case m.id.Accepted == f:
		return nil
	case m.id.Accepted != founding{}:
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member has accepted member %s as founder", m.id.Accepted.Founder)
	}
	before := m.id.Accepted
	m.id.Accepted = f
	if err := m.id.save(); err != nil {
		m.id.Accepted = before // what is not on disk was not agreed to
		m.state.Fail(refusal.Invalid("DataDir: %v", err))
		return err
	}
	return nil
}

// releaseAcceptance frees this member from a founding whose founder says that it
// has given it up, or was not seen for long.
func (m *Member) releaseAcceptance(ctx context.Context) {
	m.idMu.Lock()
	bound := m.id.Accepted
	m.idMu.Unlock()
	if bound == (founding{}) {
		return
	}
	if bound.Founder == m.id.Member {
		m.mu.Lock()
		given := m.trial != bound.Grid
		m.mu.Unlock()
		if given {
			m.release(bound)
		}
		return
	}
	p, alive := m.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == bound.Founder })
	if m.unseen.lapsed(bound, alive, m.clock.Mono()) {
		m.log.Warn("acceptance lapsed: its founder was not seen", "founder", string(bound.Founder), "for", acceptanceLives)
		m.release(bound)
	}
	if !alive {
		return
	}
	hello, err := m.caller.Hello(ctx, p.API, p.Incarnation)
	if err == nil && hello.Grid.IsZero() && hello.Founding != bound.Grid {
		m.release(bound)
	}
}

// release unbinds this member from a founding.
func (m *Member) release(f founding) {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	if m.id.Accepted != f || !m.id.Grid.IsZero() {
		return
	}
	m.id.Accepted = founding{}
	if err := m.id.save(); err != nil {
		m.id.Accepted = f
	}
}

// notFormed says why the member is in no grid yet.
func (m *Member) notFormed() error {
	if m.lone {
		return errors.New("the roster is not agreed yet")
	}
	m.idMu.Lock()
	bound, grid, next, left := m.id.Accepted, m.id.Grid, m.next, m.past.grid
	m.idMu.Unlock()
	grids := m.gossip.Grids()
	switch {
	case grid.IsZero() && !left.IsZero():
		return m.notFollowed(left, next)
	case grid.IsZero() && len(grids) > 1:
		return fmt.Errorf("members of %d grids of this name are seen, and this member joins none by chance: %s; %s",
			len(grids), gridsText(grids), gossip.ForeignAdvice)
	case !grid.IsZero():
		if worry := m.worry.Load(); worry != nil {
			return fmt.Errorf("grid %s: %s", grid, *worry)
		}
		return fmt.Errorf("grid %s does not answer; are enough of its members running? %s", grid, m.gossip.Seen())
	case bound != (founding{}) && bound.Founder != m.id.Member:
		return fmt.Errorf("waiting for member %s to form the grid, until it was not seen for %v; %s%s",
			bound.Founder, acceptanceLives, m.gossip.Seen(), m.boot.hindrance())
	case m.expect() == 0:
		return fmt.Errorf("no member of a grid was found at %v, and Expect is 0, so this member forms none; %s", m.cfg.Join, m.gossip.Seen())
	}
	return fmt.Errorf("%d members are expected to form the grid; %s%s", m.expect(), m.gossip.Seen(), m.boot.hindrance())
}

// expect returns how many members form the grid. It changes only while this
// member leads no grid, so that a leader reads it without a lock.
func (m *Member) expect() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cfg.Expect
}

// serveAccept accepts a founder, unless this member is configured otherwise: then the
// founder is refused, and this member goes on.
func (m *Member) serveAccept(_ context.Context, in wire.AcceptRequest) (wire.AcceptResponse, error) {
	if err := in.Settings.Differs(m.cfg.stated()); err != nil {
		if m.boot.hinder(fmt.Sprintf("member %.16s would form it with other settings: %v", in.Founder, err), m.clock.Mono()) {
			m.log.Warn("founder refused: its settings differ", "founder", string(in.Founder), "error", err)
		}
		return wire.AcceptResponse{}, failure.Errorf(wire.ErrSettingsConflict, "grid: founder refused: conflicting settings: %w", err)
	}
	if in.Founder == "" || in.Grid.IsZero() {
		return wire.AcceptResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: a founder and a grid ID are required")
	}
	if err := m.accept(founding{Founder: in.Founder, Grid: in.Grid}); err != nil {
		return wire.AcceptResponse{}, err
	}
	return wire.AcceptResponse{Member: m.id.Member, Durable: m.cfg.DataDir != "", Wall: clustertime.TickOf(m.cfg.Clock.Now())}, nil
}
