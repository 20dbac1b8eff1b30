package formation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const (
	// confirmLimit bounds the time to confirm acceptances before a bootstrap member gives the attempt up.
	confirmLimit = 10 * time.Second
	// acceptanceLives is the lifetime of an acceptance after the last sign of its bootstrap member.
	acceptanceLives = time.Minute
	// repeatObstacle is the interval at which the same obstacle is logged again.
	repeatObstacle = time.Minute
)

// bootstrap is this member's own attempt to form a grid: from the acceptances until
// the roster's first entry.
type bootstrap struct {
	mu        sync.Mutex
	form      *roster.Form // the first entry; nil without an attempt
	accepted  acceptances
	need      int // acceptances by others without which the first entry is not written
	since     time.Duration
	proposed  bool  // the first entry may be in the log, so that giving up is too late
	failed    error // why the attempt has to be given up
	obstacle  string
	toldUntil time.Duration // until when the obstacle is not logged again
	clocks    string        // the error of the last comparison of the members' clocks
}

func (b *bootstrap) begin(form roster.Form, accepted acceptances, need int, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.form, b.accepted, b.need, b.since, b.proposed, b.failed, b.obstacle = &form, accepted, need, now, false, nil, ""
}

func (b *bootstrap) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.form, b.failed = nil, nil
}

func (b *bootstrap) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// hinder records the obstacle to forming the grid, and reports whether it was not logged
// lately.
func (b *bootstrap) hinder(what string, now time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if what == b.obstacle && now < b.toldUntil {
		return false
	}
	b.obstacle, b.toldUntil = what, now+repeatObstacle
	return true
}

// compared records the result of a comparison of the members' clocks. It stands until the next one, also while
// too few members reply.
func (b *bootstrap) compared(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clocks = ""
	if err != nil {
		b.clocks = err.Error()
	}
}

// hindrance returns the obstacle to forming the grid, as the end of a sentence.
func (b *bootstrap) hindrance() (text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.obstacle != "" {
		text = "; " + b.obstacle
	}
	if b.clocks != "" && b.clocks != b.obstacle {
		text += "; when the members last replied: " + b.clocks
	}
	return text
}

type acceptances struct {
	others   []gossip.Peer
	readings []clustertime.Reading // of all clocks, the bootstrap member's first
	durable  bool                  // all of them have a data directory
}

// askAcceptances requests acceptance as bootstrap member from peers concurrently. A member counts
// once, however many of its incarnations reply. The error lists the refusals.
func (q *polls) askAcceptances(ctx context.Context, peers []gossip.Peer, req wire.AcceptRequest) (acceptances, error) {
	answers := make([]wire.AcceptResponse, len(peers))
	errs := make([]error, len(peers))
	var wg sync.WaitGroup
	for i, p := range peers {
		if p.Incarnation == q.self {
			continue
		}
		wg.Go(func() {
			if err := q.caller.Call(ctx, p.API, p.Incarnation, wire.PathAccept, req, &answers[i]); err != nil {
				errs[i] = fmt.Errorf("member %s: %w", named(p), err)
			} else if err := canForm(req.Settings, answers[i].Release); err != nil {
				errs[i] = fmt.Errorf("member %s %w", named(p), err)
			}
		})
	}
	wg.Wait()
	out := acceptances{durable: q.cfg.DataDir != "", readings: []clustertime.Reading{q.reading()}}
	counted := map[roster.MemberID]bool{q.member: true}
	for i, p := range peers {
		if p.Incarnation == q.self || errs[i] != nil || counted[answers[i].Member] {
			continue
		}
		counted[answers[i].Member] = true
		out.others = append(out.others, p)
		out.readings = append(out.readings, clustertime.Reading{Member: named(p), At: answers[i].Wall})
		out.durable = out.durable && answers[i].Durable
	}
	return out, errors.Join(errs...)
}

// canForm returns why a member of a release cannot take part in a new grid with settings,
// nil if it can.
func canForm(settings roster.Settings, release roster.Release) error {
	needed, part := roster.Command{Form: &roster.Form{Settings: settings}}.Needs()
	if err := release.Check(); err != nil || release.Reads(needed) {
		return err
	}
	return fmt.Errorf("runs %s, and %s needs protocol %d; upgrade it, or form the grid without that setting", release,
		part, needed)
}

func named(p gossip.Peer) string { return fmt.Sprintf("%s at %s", p.Incarnation.Member(), p.API) }

func (q *polls) reading() clustertime.Reading {
	return clustertime.Reading{Member: fmt.Sprintf("%s at %s", q.member, q.cfg.Record().API),
		At: clustertime.TickOf(q.cfg.Clock.Now())}
}

// confirm has the acceptances confirmed directly before the first entry, which it
// returns: one may have lapsed while this member was paused or cut off. An attempt that
// is not confirmed for long is given up.
func (f *Formation) confirm(ctx context.Context) (*roster.Form, error) {
	b := &f.boot
	b.mu.Lock()
	form, others, need, since := b.form, b.accepted.others, b.need, b.since
	b.mu.Unlock()
	if form == nil {
		return nil, errors.New("this member leads a grid that it did not form and that has no first entry")
	}
	if need > 0 {
		req := wire.AcceptRequest{BootstrapMember: f.id.Member, Grid: form.Grid, Settings: form.Settings}
		again, err := f.askAcceptances(ctx, others, req)
		if len(again.others) < need {
			err = fmt.Errorf("%d of %d acceptances are confirmed: %w", len(again.others), need, err)
			b.mu.Lock()
			defer b.mu.Unlock()
			if f.clock.Mono()-since > confirmLimit && !b.proposed {
				b.failed = err
			}
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return nil, b.failed
	}
	b.proposed = true
	return form, nil
}

// Begin writes the roster's first entry, once the acceptances are confirmed. It returns an
// obstacle once a while.
func (f *Formation) Begin(ctx context.Context) error {
	form, err := f.confirm(ctx)
	if err == nil {
		return f.raft.Propose(roster.Command{Form: form})
	}
	if f.boot.hinder(err.Error(), f.clock.Mono()) {
		return err
	}
	return nil
}

// giveUp drops an attempt to form a grid before its first entry is written. The caller has the turn.
func (f *Formation) giveUp(why error) {
	f.log.Warn("bootstrap attempt abandoned", "grid", f.Grid().String(), "error", why)
	f.endTenure()
	if f.ctx.Err() != nil {
		return
	}
	if err := f.raft.Clear(); err != nil {
		f.state.Fail(err)
		return
	}
	f.idMu.Lock()
	f.id.Grid, f.id.Forming, f.id.Accepted = roster.GridID{}, false, Attempt{}
	err := f.id.Save()
	f.idMu.Unlock()
	if err != nil {
		f.state.Fail(err)
	}
	f.nextTenure()
	f.gossip.SetGrid(roster.GridID{})
	f.life.Go(func() { f.gossip.Announce(f.ctx) })
}

// lapse measures for how long a member that forms a grid was not seen.
// Only the holder of the turn uses it.
type lapse struct {
	of   Attempt
	seen time.Duration
}

// lapsed reports whether an attempt has lapsed, given whether a member that forms it is seen.
func (l *lapse) lapsed(of Attempt, alive bool, now time.Duration) bool {
	if alive || l.of != of {
		l.of, l.seen = of, now
	}
	return now-l.seen >= acceptanceLives
}
