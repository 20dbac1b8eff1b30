package grid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// A memory-only grid whose majority of voters is gone agrees on nothing any more.
// Told by a person to, a survivor forms the grid anew: it asks the other survivors
// to abandon the old grid, abandons it itself, and founds one that begins above
// everything the old one can have granted.
//
//	survivor --- init, nobody bound to another ---> asks all ---> abandons ---> founder
//	survivor --- asked by the founder ------------> abandons ---> joins that grid only
//
// A survivor is bound to one founder at a time, and the grid is formed only if
// every survivor that gossip sees has agreed: two of them told to do the same at
// the same time do not both succeed. A founder that fails gives its grid up for
// good, and may be told again.

const (
	// abandonCalls bounds one survivor's answer, which waits for its part in the
	// old agreement to have ended.
	abandonCalls = 6 * time.Second
	initTimeout  = 25 * time.Second

	// latestFloor, the end of 2099, bounds what a slip of the pen can do.
	latestFloor clustertime.Tick = 4_102_444_799_999
)

// errElsewhere is why what was begun in one grid is not done in another.
var errElsewhere = failure.Errorf(wire.ErrNotNow, "grid: this member has joined another grid meanwhile; check it with `snowgrid status`")

// past is what a member keeps of a grid that it has left.
type past struct {
	grid     roster.GridID // zero: it has left none
	settings roster.Settings
	bounds   wire.AbandonResponse
}

// serveInit forms the grid anew. It goes on if the caller does not wait for it.
func (m *Member) serveInit(ctx context.Context, in wire.InitRequest) (wire.InitResponse, error) {
	var none wire.InitResponse
	if in.Floor < 0 || in.Floor > latestFloor {
		return none, failure.Errorf(wire.ErrBadRequest, "grid: floor %d ms is not a time from 1970 to 2099", in.Floor)
	}
	if err := m.initRefused(); err != nil {
		return none, err
	}
	if !in.Force {
		return none, failure.Errorf(wire.ErrNotConfirmed, "grid: nothing was done: %s; confirm with --force", m.initPlan())
	}
	if in.FirstLife && !m.oldGrid().IsZero() {
		return none, failure.Errorf(wire.ErrBadRequest, "grid: --first-life does not apply: this member is a survivor of grid %s; omit the flag", m.oldGrid())
	}
	return inBackground(ctx, m, func() (wire.InitResponse, error) { return m.initGrid(in) })
}

// outcome is the result of an operation.
type outcome[T any] struct {
	value T
	err   error
}

// inBackground runs f to its end and waits for that, or for ctx.
func inBackground[T any](ctx context.Context, m *Member, f func() (T, error)) (T, error) {
	var none T
	answers := make(chan outcome[T], 1)
	if !m.life.Go(func() {
		value, err := f()
		answers <- outcome[T]{value: value, err: err}
	}) {
		return none, refusal.ErrClosed
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, fmt.Errorf("the operation continues in the background; check its result with `snowgrid status`: %w", ctx.Err())
	}
}

// initRefused says why the grid must not be formed anew by this member, or
// abandoned by it.
func (m *Member) initRefused() error {
	switch {
	case m.lone:
		return failure.Errorf(wire.ErrNotNeeded, "grid: recovery refused: this member runs alone and has no grid to recover")
	case m.cfg.DataDir != "":
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: this member keeps its grid on disk; start the missing members again with their data directories. "+
			"If a majority of the voters is lost for good, stop this member and run `snowgrid recover --data-dir %s`", m.cfg.DataDir)
	case m.state.Leaving():
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: this member is leaving the grid; use another one")
	case !m.raft.TakesPart():
		return nil
	}
	if leader := m.raft.Node().Leader(); leader != "" {
		return failure.Errorf(wire.ErrNotNeeded, "grid: recovery refused: the grid still has a leader (%s)", leader)
	}
	if q := m.quorum(); q.Majority() {
		return failure.Errorf(wire.ErrNotNeeded, "grid: recovery refused: %d of %d voters are alive, which is a majority; they will elect a leader", len(q.Alive), q.Voters())
	}
	return nil
}

// initPlan says in words what would be done.
func (m *Member) initPlan() string {
	old := m.oldGrid()
	if old.IsZero() {
		return "this member, which is in no grid, would form one with all members seen that are in none either; its IDs would begin " +
			"after the window and 5 s, or, if that is stated, now (first life) or above a floor; " + m.gossip.Seen()
	}
	return fmt.Sprintf("this member would abandon grid %s for good, together with the %d other survivors it sees, and form a new one, "+
		"whose grants begin above all of the old one's: after the window, 5 s, and %v for a jump of the clocks that no survivor has heard of, "+
		"or without the latter above a floor, if that is stated; do it at one member only, and only if the missing ones no longer run; %s",
		old, len(m.survivors(old)), clustertime.JumpLimit.Duration(), m.gossip.Seen())
}

// oldGrid returns the grid that is to be formed anew: this member's, or the one
// that it has left; zero for none.
func (m *Member) oldGrid() roster.GridID {
	m.idMu.Lock()
	defer m.idMu.Unlock()
	if m.id.Grid.IsZero() {
		return m.past.grid
	}
	return m.id.Grid
}

// survivors returns the other members of a grid, or that have left it to form it
// anew, which gossip sees.
func (m *Member) survivors(old roster.GridID) []gossip.Peer {
	return slices.DeleteFunc(m.gossip.Peers(), func(p gossip.Peer) bool {
		return p.Incarnation == m.self || p.Grid != old && (!p.Grid.IsZero() || p.Left != old.String())
	})
}

// initGrid forms the grid anew with this member as founder.
func (m *Member) initGrid(in wire.InitRequest) (res wire.InitResponse, err error) {
	ctx, cancel := context.WithTimeout(m.ctx, initTimeout)
	defer cancel()
	old := m.oldGrid()
	next := founding{Founder: m.id.Member, Grid: newGridID()}
	if err := m.bind(next); err != nil {
		return res, err
	}
	defer func() {
		if err != nil {
			m.unbind(next)
		}
	}()
	if err := m.takeTurn(ctx); err != nil {
		return res, err
	}
	defer m.endTurn()
	if m.oldGrid() != old {
		return res, errElsewhere
	}
	if old.IsZero() {
		return m.initFirst(ctx, next, in)
	}
	survivors := m.survivors(old)
	if err := m.checkClocks(ctx, survivors); err != nil {
		return res, err
	}
	m.log.Warn("forming the grid anew, as told", "old", old.String(), "new", next.Grid.String(), "other_survivors", len(survivors))
	req := wire.AbandonRequest{Old: old, Grid: next.Grid, Founder: next.Founder, Expect: 1 + len(survivors)}
	told, err := m.askSurvivors(ctx, survivors, req)
	if err != nil {
		return res, fmt.Errorf("grid: recovery aborted: a surviving member refused; fix the cause, or wait until gossip drops stopped members, then retry: %w", err)
	}
	if err := m.leaveGrid(req.Expect); err != nil {
		return res, err
	}
	form, jump := m.formAfter(next.Grid, told, in.Floor)
	if err := m.formAs(form, acceptances{}, 0); err != nil {
		return res, errors.Join(err, m.belong(roster.GridID{}, false))
	}
	return wire.InitResponse{Grid: form.Grid, Members: req.Expect, First: form.Ceiling, Jump: jump}, nil
}

// checkClocks refuses, before anything is abandoned, survivors of which a clock is far
// ahead of the others. One that does not answer is asked again when it abandons.
func (m *Member) checkClocks(ctx context.Context, survivors []gossip.Peer) error {
	readings := make([]clustertime.Reading, len(survivors))
	var wg sync.WaitGroup
	for i, p := range survivors {
		wg.Go(func() {
			hello, err := m.caller.Hello(ctx, p.API, p.Incarnation)
			if err == nil {
				readings[i] = clustertime.Reading{Member: named(p), At: hello.Wall}
			}
		})
	}
	wg.Wait()
	readings = slices.DeleteFunc(append(readings, m.reading()), func(r clustertime.Reading) bool { return r.Member == "" })
	if _, _, err := clustertime.Clocks(readings); err != nil {
		return fmt.Errorf("grid: recovery aborted: %w", err)
	}
	return nil
}

// askSurvivors asks everybody at once to abandon the old grid.
func (m *Member) askSurvivors(ctx context.Context, survivors []gossip.Peer, req wire.AbandonRequest) ([]wire.AbandonResponse, error) {
	told := make([]wire.AbandonResponse, len(survivors))
	errs := make([]error, len(survivors))
	var wg sync.WaitGroup
	for i, p := range survivors {
		wg.Go(func() {
			err := m.caller.CallWithin(ctx, abandonCalls, p.API, p.Incarnation, wire.PathAbandon, req, &told[i])
			if err != nil {
				errs[i] = failure.Errorf(err, "member %s: %s", p.Incarnation, refusal.Unprefixed(err))
			}
		})
	}
	wg.Wait()
	return told, errors.Join(errs...)
}

// formAfter is the first entry of a grid that follows one that was abandoned, and what
// of its ceiling allows for a jump of clocks: its grants begin above all that any
// survivor knows, or that a member that is gone can have granted by a raise that no
// survivor has heard of.
func (m *Member) formAfter(grid roster.GridID, told []wire.AbandonResponse, floor clustertime.Tick) (roster.Form, clustertime.Span) {
	m.idMu.Lock()
	own := m.past
	m.idMu.Unlock()
	own.bounds.Wall = clustertime.TickOf(m.cfg.Clock.Now())
	var bounds []clustertime.Bound
	for _, b := range append(told, own.bounds) {
		window := max(b.Window, own.settings.Window)
		bounds = append(bounds, clustertime.Bound{Ceiling: b.Ceiling, Time: b.Time, Wall: b.Wall, Window: window})
	}
	first, jump := clustertime.After(bounds, floor)
	return roster.Form{Grid: grid, Settings: own.settings, Ceiling: first}, jump
}

// initFirst forms a grid with a member that waits for others that do not come. All
// others in no grid that it sees have to accept it, and join.
func (m *Member) initFirst(ctx context.Context, next founding, in wire.InitRequest) (res wire.InitResponse, err error) {
	if grids := m.gossip.Grids(); len(grids) > 0 {
		return res, failure.Errorf(wire.ErrNotNow, "grid: recovery refused: this member is joining a running grid of its name: %s", gridsText(grids))
	}
	peers := m.gossip.Peers()
	if err := m.freeAcceptance(); err != nil {
		return res, err
	}
	if err := m.accept(next); err != nil {
		return res, err
	}
	req := wire.AcceptRequest{Founder: next.Founder, Grid: next.Grid, Settings: m.cfg.settings()}
	accepted, err := m.acceptedByAll(ctx, peers, req)
	if err != nil {
		return res, fmt.Errorf("grid: recovery aborted: a reachable member refused: %w", err)
	}
	begins, err := m.beginning(accepted)
	if err != nil {
		return res, err
	}
	begins.Durable = false // this is no ordinary start: the state of members that do not come is unknown
	begins.FirstLife, begins.Floor, begins.NoHolder = in.FirstLife, in.Floor, in.Floor > 0
	form := roster.Form{Grid: next.Grid, Settings: req.Settings, Ceiling: begins.First()}
	m.setExpect(len(peers))
	if err := m.formAs(form, accepted, len(accepted.others)); err != nil {
		return res, errors.Join(err, m.belong(roster.GridID{}, false))
	}
	return wire.InitResponse{Grid: form.Grid, Members: len(peers), First: form.Ceiling}, nil
}

// freeAcceptance frees this member from its own founding, and from one whose
// founder is not there any more.
func (m *Member) freeAcceptance() error {
	m.abandon()
	m.idMu.Lock()
	bound := m.id.Accepted
	m.idMu.Unlock()
	if bound.Founder != m.id.Member && m.seesMember(bound.Founder) {
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: member %s is forming the grid", bound.Founder)
	}
	m.release(bound)
	return nil
}

// acceptedByAll asks members to accept this founder, for as long as it may take to
// hear that an earlier founding was given up.
func (m *Member) acceptedByAll(ctx context.Context, peers []gossip.Peer, req wire.AcceptRequest) (accepted acceptances, err error) {
	for range 5 {
		accepted, err = m.askAcceptances(ctx, peers, req)
		if err == nil {
			return accepted, nil
		}
		signal.Sleep(ctx, 2*enterEvery)
	}
	return accepted, err
}

// seesMember reports whether gossip sees any start of a member.
func (m *Member) seesMember(id roster.MemberID) bool {
	_, found := m.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == id })
	return found
}

// gridsText names grids with an address in each.
func gridsText(grids map[roster.GridID]string) string {
	var out []string
	for grid, addr := range grids {
		out = append(out, fmt.Sprintf("grid %s at %s", grid, addr))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
