package formation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A memory-only grid that lost the majority of its voters has no quorum. At an operator's request, a
// survivor forms a new grid: it asks the other survivors to leave the old grid, leaves it itself, and
// forms the next, which starts above everything the old one can have granted.
//
//	survivor --- init, none bound to another -----> asks all ---> abandons ---> bootstraps the grid
//	survivor --- asked by that one ---------------> abandons ---> joins that grid only
//
// A survivor is bound to one bootstrap member at a time, and the grid is formed only if every survivor
// in gossip has agreed: at most one of two concurrent requests succeeds. A bootstrap member that fails
// gives its grid up permanently, and accepts another request.

const (
	// abandonCalls bounds one survivor's answer, which waits for its part in the
	// old agreement to have ended.
	abandonCalls = 6 * time.Second
	initTimeout  = 25 * time.Second

	// LatestFloor is the end of 2099: a later floor is a typing error.
	LatestFloor clustertime.Tick = 4_102_444_799_999
)

// errElsewhere ends an operation that was started in another grid.
var errElsewhere = failure.Errorf(wire.ErrNotNow,
	"grid: this member has joined another grid meanwhile; check it with `snowgrid status`")

func (f *Formation) serveInit(ctx context.Context, in wire.InitRequest) (wire.InitResponse, error) {
	out, err := f.Init(ctx, in)
	var formed []slog.Attr
	if err == nil {
		formed = append(formed, slog.String("grid", out.Grid.String()))
	}
	f.cfg.Audit.Write(audit.Entry{Action: audit.Init, Name: f.gossip.Describe(f.self), Who: api.WhoOf(ctx),
		Err: err}, formed...)
	return out, err
}

// Init recovers the grid. It continues if the caller does not wait for it.
func (f *Formation) Init(ctx context.Context, in wire.InitRequest) (wire.InitResponse, error) {
	var none wire.InitResponse
	if in.Floor < 0 || in.Floor > LatestFloor {
		return none, failure.Errorf(wire.ErrBadRequest, "grid: floor %d ms is not a time from 1970 to 2099", in.Floor)
	}
	if err := f.initRefused(); err != nil {
		return none, err
	}
	if !in.Force {
		return none, failure.Errorf(wire.ErrNotConfirmed, "grid: nothing was done: %s; confirm with --force", f.initPlan())
	}
	if in.FirstLife && !f.oldGrid().IsZero() {
		return none, failure.Errorf(wire.ErrBadRequest,
			"grid: --first-life does not apply: this member is a survivor of grid %s; omit the flag", f.oldGrid())
	}
	return inBackground(ctx, f.life, func() (wire.InitResponse, error) { return f.initGrid(in) })
}

// inBackground runs work to its end and waits for that, or for ctx.
func inBackground[T any](ctx context.Context, life *tenure.Life, work func() (T, error)) (T, error) {
	var value, none T
	var err error
	done := make(chan struct{})
	if !life.Go(func() {
		defer close(done)
		value, err = work()
	}) {
		return none, refusal.ErrClosed
	}
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return none, fmt.Errorf("the operation continues in the background; check its result with `snowgrid status`: %w",
			ctx.Err())
	}
}

// initRefused returns the reason why this member must not recover the grid, or leave
// it for a recovery.
func (d *deps) initRefused() error {
	switch {
	case d.cfg.Lone:
		return failure.Errorf(wire.ErrNotNeeded, "grid: recovery refused: this member runs alone and has no grid to recover")
	case d.cfg.DataDir != "":
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: this member keeps its grid on disk; start the "+
			"missing members again with their data directories. "+
			"If a majority of the voters is lost permanently, stop this member and run `snowgrid recover --data-dir %s`",
			d.cfg.DataDir)
	case d.state.Leaving():
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: this member is leaving the grid; use another one")
	case !d.raft.TakesPart():
		return nil
	}
	if leader := d.raft.Node().Leader(); leader != "" {
		return failure.Errorf(wire.ErrNotNeeded, "grid: recovery refused: the grid still has a leader (%s)", leader)
	}
	if alive, count := d.cfg.Voters(); 2*alive > count {
		return failure.Errorf(wire.ErrNotNeeded,
			"grid: recovery refused: %s alive, which is a majority; they will elect a leader",
			spelling.CountOf(alive, count, "voter"))
	}
	return nil
}

func (f *Formation) initPlan() string {
	old := f.oldGrid()
	if old.IsZero() {
		return "this member is in no grid; it would form one with all other members that it sees without a grid; its IDs " +
			"would begin " +
			"after the window and 5 s, or immediately with --first-life, or above the floor with --floor; " + f.gossip.Seen()
	}
	return fmt.Sprintf(
		"this member and the %d other survivors that it sees would leave grid %s permanently and form a new one, "+
			"whose grants begin above all old ones: after the window, 5 s, and %v for a clock jump that no survivor has seen, "+
			"or, with --floor, above the floor, without the wait for a clock jump; run it at one member only, and only if the "+
			"missing members have stopped; %s",
		len(f.survivors(old)), old, clustertime.JumpLimit.Duration(), f.gossip.Seen())
}

// oldGrid returns the grid to recover: this member's, or the one it has left; zero for none.
func (b *bindings) oldGrid() roster.GridID {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if b.id.Grid.IsZero() {
		return b.previous.Grid
	}
	return b.id.Grid
}

// survivors returns the other members of a grid in gossip, including members that have left it for a
// recovery. A member of the roster whose announcement of its grid has not arrived yet is one, too.
func (d *deps) survivors(old roster.GridID) []gossip.Peer {
	r := d.state.Roster()
	return slices.DeleteFunc(slices.Clone(d.gossip.Peers()), func(p gossip.Peer) bool {
		_, member := r.Member(p.Incarnation)
		survivor := p.Grid == old || p.Grid.IsZero() && (p.Left == old.String() || member && r.Grid == old)
		return p.Incarnation == d.self || !survivor
	})
}

// Reform forms a new grid from the survivors of an anchored memory-only grid that lost its majority of
// voters: the anchor proves that no member raises the old ceiling, so it needs no operator.
func (f *Formation) Reform(ctx context.Context) error {
	if err := f.initRefused(); err != nil {
		return err
	}
	_, err := inBackground(ctx, f.life,
		func() (wire.InitResponse, error) { return f.initGrid(wire.InitRequest{Force: true}) })
	return err
}

// initGrid recovers the grid with this member as bootstrap member.
func (f *Formation) initGrid(in wire.InitRequest) (res wire.InitResponse, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, initTimeout)
	defer cancel()
	old := f.oldGrid()
	next := Attempt{BootstrapMember: f.id.Member, Grid: NewGridID()}
	if err := f.bind(next); err != nil {
		return res, err
	}
	defer func() {
		if err != nil {
			f.unbind(next)
		}
	}()
	if err := f.takeTurn(ctx); err != nil {
		return res, err
	}
	defer f.endTurn()
	if f.oldGrid() != old {
		return res, errElsewhere
	}
	if old.IsZero() {
		return f.initFirst(ctx, next, in)
	}
	survivors := f.survivors(old)
	if err := f.checkClocks(ctx, survivors); err != nil {
		return res, err
	}
	f.log.Warn("recovery started", "old", old.String(), "new", next.Grid.String(), "other_survivors", len(survivors))
	req := wire.AbandonRequest{Old: old, Grid: next.Grid, BootstrapMember: next.BootstrapMember,
		Expect: 1 + len(survivors)}
	told, err := f.askSurvivors(ctx, survivors, req)
	if err != nil {
		return res,
			fmt.Errorf("grid: recovery aborted: a surviving member refused; fix the cause, or wait until gossip drops stopped "+
				"members, then retry: %w", err)
	}
	if err := f.leaveGrid(req.Expect); err != nil {
		return res, err
	}
	form, jump := f.formAfter(next.Grid, told, in.Floor)
	if err := f.formAs(form, acceptances{}, 0); err != nil {
		return res, errors.Join(err, f.belong(roster.GridID{}, false))
	}
	return wire.InitResponse{Grid: form.Grid, Members: req.Expect, First: form.Ceiling, Jump: jump}, nil
}

// checkClocks refuses, before any member leaves, survivors with a clock far ahead of the others. An
// unreachable survivor is checked again when it leaves.
func (q *polls) checkClocks(ctx context.Context, survivors []gossip.Peer) error {
	readings := make([]clustertime.Reading, len(survivors))
	var wg sync.WaitGroup
	for i, p := range survivors {
		wg.Go(func() {
			hello, err := q.caller.Hello(ctx, p.API, p.Incarnation)
			if err == nil {
				readings[i] = clustertime.Reading{Member: named(p), At: hello.Wall}
			}
		})
	}
	wg.Wait()
	readings = slices.DeleteFunc(append(readings, q.reading()), func(r clustertime.Reading) bool { return r.Member == "" })
	if _, _, err := clustertime.Clocks(readings); err != nil {
		return fmt.Errorf("grid: recovery aborted: %w", err)
	}
	return nil
}

// askSurvivors requests all survivors concurrently to leave the old grid.
func (q *polls) askSurvivors(ctx context.Context, survivors []gossip.Peer,
	req wire.AbandonRequest) ([]wire.AbandonResponse, error) {
	told := make([]wire.AbandonResponse, len(survivors))
	errs := make([]error, len(survivors))
	var wg sync.WaitGroup
	for i, p := range survivors {
		wg.Go(func() {
			err := q.caller.CallWithin(ctx, abandonCalls, p.API, p.Incarnation, wire.PathAbandon, req, &told[i])
			if err != nil {
				errs[i] = failure.Errorf(err, "member %s: %s", p.Incarnation, refusal.Unprefixed(err))
			}
		})
	}
	wg.Wait()
	return told, errors.Join(errs...)
}

// formAfter returns the first entry of a grid that follows an abandoned one, and the allowance for
// clock jumps in its ceiling.
func (b *bindings) formAfter(grid roster.GridID, told []wire.AbandonResponse, floor clustertime.Tick) (roster.Form,
	clustertime.Span) {
	b.idMu.Lock()
	own := b.previous
	b.idMu.Unlock()
	own.Bounds.Wall = clustertime.TickOf(b.cfg.Clock.Now())
	var others []recovery.Bounds
	for _, bounds := range told {
		others = append(others, recovery.Bounds(bounds))
	}
	return recovery.FromMemory(grid, own, others, b.cfg.Anchored, floor)
}

// initFirst forms a grid with a member that waits for others that do not come. All
// others in no grid that it sees have to accept it, and join.
func (f *Formation) initFirst(ctx context.Context, next Attempt, in wire.InitRequest) (res wire.InitResponse,
	err error) {
	if grids := f.gossip.Grids(); len(grids) > 0 {
		return res, failure.Errorf(wire.ErrNotNow,
			"grid: recovery refused: this member is joining a running grid of its name: %s", gridsText(grids))
	}
	peers := f.gossip.Peers()
	if err := f.freeAcceptance(); err != nil {
		return res, err
	}
	if err := f.bindTo(next); err != nil {
		return res, err
	}
	req := wire.AcceptRequest{BootstrapMember: next.BootstrapMember, Grid: next.Grid, Settings: f.cfg.Settings}
	accepted, err := f.acceptedByAll(ctx, peers, req)
	if err != nil {
		return res, fmt.Errorf("grid: recovery aborted: a reachable member refused: %w", err)
	}
	begins, err := f.beginning(accepted)
	if err != nil {
		return res, err
	}
	begins.Durable = false // the state of the missing members is unknown
	begins.FirstLife, begins.Floor, begins.NoHolder = in.FirstLife, in.Floor, in.Floor > 0
	begins.Anchored = f.cfg.Anchored
	form := roster.Form{Grid: next.Grid, Settings: req.Settings, Ceiling: begins.First(), Anchored: f.cfg.Anchored}
	f.setExpect(len(peers))
	if err := f.formAs(form, accepted, len(accepted.others)); err != nil {
		return res, errors.Join(err, f.belong(roster.GridID{}, false))
	}
	return wire.InitResponse{Grid: form.Grid, Members: len(peers), First: form.Ceiling}, nil
}

// freeAcceptance frees this member from its own attempt, and from an attempt abandoned by a lost
// bootstrap member.
func (f *Formation) freeAcceptance() error {
	f.giveUpAttempt()
	f.idMu.Lock()
	bound := f.id.Accepted
	f.idMu.Unlock()
	if bound.BootstrapMember != f.id.Member && f.seesMember(bound.BootstrapMember) {
		return failure.Errorf(wire.ErrNotNow, "grid: recovery refused: member %s is forming the grid", bound.BootstrapMember)
	}
	f.release(bound)
	return nil
}

// acceptedByAll requests acceptance until members can have learned that an earlier attempt was given
// up.
func (q *polls) acceptedByAll(ctx context.Context, peers []gossip.Peer, req wire.AcceptRequest) (accepted acceptances,
	err error) {
	for range 5 {
		accepted, err = q.askAcceptances(ctx, peers, req)
		if err == nil {
			return accepted, nil
		}
		signal.Sleep(ctx, 2*enterEvery)
	}
	return accepted, err
}

func (d *deps) seesMember(id roster.MemberID) bool {
	_, found := d.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == id })
	return found
}

func gridsText(grids map[roster.GridID]string) string {
	var out []string
	for grid, addr := range grids {
		out = append(out, fmt.Sprintf("grid %s at %s", grid, addr))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
