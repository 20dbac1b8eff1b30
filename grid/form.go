package grid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
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
	enterEvery  = 100 * time.Millisecond
	memberCalls = time.Second // bounds one call between members
)

// enter brings the member into its grid and keeps it there.
func (m *Member) enter(ctx context.Context) {
	ticker := time.NewTicker(enterEvery)
	defer ticker.Stop()
	for {
		switch {
		case m.node() == nil && m.grid().IsZero():
			m.seekGrid(ctx)
		case m.node() == nil:
			m.takePart(false)
		default:
			m.askToJoin(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reopen takes part again in the grid that the data directory knows.
func (m *Member) reopen() error {
	if m.cfg.DataDir == "" {
		return nil
	}
	last, err := m.stores.logs.LastIndex()
	if err != nil {
		return err
	}
	if m.id.Grid.IsZero() || (last == 0 && m.id.Founded) {
		m.id.Grid, m.id.Founded = partition.GridID{}, false // its forming never began
		return nil
	}
	return m.startRaft(false)
}

// seekGrid looks for a grid to join, or forms one.
func (m *Member) seekGrid(ctx context.Context) {
	if p, found := m.gossip.find(func(p peer) bool { return !p.Grid.IsZero() }); found {
		m.adoptGrid(ctx, p)
		return
	}
	m.releaseAcceptance(ctx)
	peers := m.gossip.peers()
	if m.cfg.Expect == 0 || len(peers) < m.cfg.Expect || peers[0].Incarnation != m.self {
		m.abandon()
		return
	}
	if err := m.found(ctx, peers); err != nil {
		m.log.Info("the grid is not formed yet", "error", err)
	}
}

// adoptGrid makes the grid of a peer this member's, unless their settings differ.
func (m *Member) adoptGrid(ctx context.Context, p peer) {
	hello, err := m.hello(ctx, p.API, p.Incarnation)
	if err != nil || hello.Grid != p.Grid {
		return
	}
	if hello.Version > 0 {
		if err := hello.Settings.Differs(m.cfg.stated()); err != nil {
			m.fail(invalid("%v", err))
			return
		}
	} else {
		return // its founder has not begun
	}
	if err := m.belong(p.Grid, false); err != nil {
		m.fail(err)
		return
	}
	m.takePart(false)
}

// belong makes a grid this member's, on disk before anything else follows.
func (m *Member) belong(g partition.GridID, founded bool) error {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	m.id.Grid, m.id.Founded = g, founded
	return m.id.save()
}

// takePart starts Raft and lets everybody know.
func (m *Member) takePart(bootstrap bool) {
	if err := m.startRaft(bootstrap); err != nil {
		m.fail(err)
		return
	}
	m.done.Go(m.gossip.announce)
}

// found asks everybody for acceptance, and forms the grid if Expect gave it.
func (m *Member) found(ctx context.Context, peers []peer) error {
	grid := m.attempt()
	if err := m.accept(founding{Founder: m.id.Member, Grid: grid}); err != nil {
		return err
	}
	accepted := map[partition.MemberID]bool{m.id.Member: true}
	durable := m.cfg.DataDir != ""
	req := wire.AcceptRequest{Founder: m.id.Member, Grid: grid, Settings: m.cfg.settings()}
	var failed error
	for _, p := range peers {
		if p.Incarnation == m.self {
			continue
		}
		var res wire.AcceptResponse
		if err := m.callMember(ctx, p.API, p.Incarnation, wire.PathAccept, req, &res); err != nil {
			failed = errors.Join(failed, fmt.Errorf("member at %s: %w", p.API, err))
			continue
		}
		accepted[res.Member] = true
		durable = durable && res.Durable
	}
	if len(accepted) < m.cfg.Expect {
		return fmt.Errorf("%d of %d members accept this founder: %w", len(accepted), m.cfg.Expect, failed)
	}
	return m.form(grid, durable)
}

// form begins the grid with this member as its first server. The roster's first
// entry follows when it leads.
func (m *Member) form(grid partition.GridID, durable bool) error {
	if err := m.belong(grid, true); err != nil {
		return err
	}
	m.mu.Lock()
	m.forming = &partition.Form{Grid: grid, Settings: m.cfg.settings(), Ceiling: m.firstCeiling(durable)}
	m.mu.Unlock()
	m.log.Info("forming the grid", "grid", grid.String(), "first_timestamp", time.UnixMilli(m.forming.Ceiling).UTC())
	if m.lone {
		return m.startRaft(true)
	}
	m.takePart(true)
	return nil
}

// clockMargin is added to the window where a memory-only grid has to assume that
// an earlier life ended just now, under a clock that was ahead of this one.
const clockMargin = 5 * time.Second

// firstCeiling is where a new grid's grants begin.
func (m *Member) firstCeiling(durable bool) partition.Tick {
	now := m.cfg.Clock.Now()
	switch {
	case !m.cfg.Floor.IsZero():
		return m.cfg.Floor.UnixMilli() + 1
	case m.lone, durable, m.cfg.FirstLife:
		return now.UnixMilli()
	}
	wait := time.Duration(m.cfg.settings().Window)*time.Millisecond + clockMargin
	m.log.Warn("a grid that keeps nothing on disk starts with a wait, so that IDs of an earlier life are not issued again; "+
		"DataDir avoids it, and so do FirstLife or Floor if they are true", "wait", wait)
	return now.Add(wait).UnixMilli()
}

// attempt returns the grid this member tries to form, new after each abandon.
func (m *Member) attempt() partition.GridID {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trial.IsZero() {
		m.trial = newGridID()
	}
	return m.trial
}

// abandon gives up the founding under way, for good: acceptances of it count no
// more, and hello tells so.
func (m *Member) abandon() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trial = partition.GridID{}
}

// accept binds this member to a founding, on disk before it says so.
func (m *Member) accept(f founding) error {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	switch {
	case !m.id.Grid.IsZero():
		return fmt.Errorf("%w: this member is in grid %s already", sequencer.ErrUnavailable, m.id.Grid)
	case m.id.Accepted == f:
		return nil
	case m.id.Accepted != founding{}:
		return fmt.Errorf("%w: this member has accepted member %s as founder", sequencer.ErrUnavailable, m.id.Accepted.Founder)
	}
	m.id.Accepted = f
	return m.id.save()
}

// releaseAcceptance frees this member from a founding whose founder says that it
// has given it up.
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
	p, alive := m.gossip.find(func(p peer) bool { return p.Incarnation.Member() == bound.Founder })
	if !alive {
		return
	}
	hello, err := m.hello(ctx, p.API, p.Incarnation)
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
	bound, grid := m.id.Accepted, m.id.Grid
	m.idMu.Unlock()
	switch {
	case !grid.IsZero():
		return fmt.Errorf("grid %s does not answer; are enough of its members running? %s", grid, m.gossip.seen())
	case bound != (founding{}) && bound.Founder != m.id.Member:
		return fmt.Errorf("waiting for member %s to form the grid; if it is gone for good, restart this member; %s",
			bound.Founder, m.gossip.seen())
	case m.cfg.Expect == 0:
		return fmt.Errorf("no member of a grid was found at %v, and Expect is 0, so this member forms none; %s", m.cfg.Join, m.gossip.seen())
	}
	return fmt.Errorf("%d members are expected to form the grid; %s", m.cfg.Expect, m.gossip.seen())
}

// hello asks a member for its view.
func (m *Member) hello(ctx context.Context, addr string, target partition.Incarnation) (wire.HelloResponse, error) {
	var res wire.HelloResponse
	err := m.callMember(ctx, addr, target, wire.PathHello, wire.HelloRequest{}, &res)
	return res, err
}

// callMember makes one call to one incarnation of another member.
func (m *Member) callMember(ctx context.Context, addr string, target partition.Incarnation, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, memberCalls)
	defer cancel()
	header := http.Header{}
	header.Set(wire.HeaderTarget, string(target))
	header.Set(wire.HeaderGrid, m.grid().String())
	return m.http.CallWith(ctx, addr, path, header, in, out)
}

// serveHello tells this member's view.
func (m *Member) serveHello(context.Context, wire.HelloRequest) (wire.HelloResponse, error) {
	r := m.roster.Load()
	res := wire.HelloResponse{
		Incarnation: m.self, Grid: m.grid(), Version: r.Version, Settings: r.Settings,
		Wall: m.cfg.Clock.Now().UnixMilli(), Time: m.clock.Now(),
	}
	if node := m.node(); node != nil {
		res.Leader = node.leader()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	res.Founding = m.trial
	return res, nil
}

// serveAccept accepts a founder, unless this member is configured otherwise.
func (m *Member) serveAccept(_ context.Context, in wire.AcceptRequest) (wire.AcceptResponse, error) {
	if err := in.Settings.Differs(m.cfg.stated()); err != nil {
		m.fail(invalid("%v", err))
		return wire.AcceptResponse{}, invalid("%v", err)
	}
	if in.Founder == "" || in.Grid.IsZero() {
		return wire.AcceptResponse{}, invalid("an acceptance needs a founder and a grid")
	}
	if err := m.accept(founding{Founder: in.Founder, Grid: in.Grid}); err != nil {
		return wire.AcceptResponse{}, err
	}
	return wire.AcceptResponse{Member: m.id.Member, Durable: m.cfg.DataDir != ""}, nil
}
