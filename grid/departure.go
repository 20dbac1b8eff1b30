package grid

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// departure takes this member out of its grid, because it leaves or because its part has
// ended.
type departure struct {
	*deps

	last atomic.Pointer[string] // server ID of the last leader, nil for none
	ends atomic.Pointer[string] // server ID of the last leader that gossip saw leaving

	turn     chan struct{} // holds one token while a departure is in progress
	gone     bool          // departed; guarded by turn
	allLeave time.Duration // when this member first saw that all others leave, 0 if they do not; guarded by turn
}

// sayGoodbye removes the member from the roster, unless no other member can take over: then the
// grid stops, and a durable one continues from there at its next start. It gives up when ctx ends,
// and when nothing was agreed for a window: then no grant is left that matters to another member.
//
// An operator may request the departure while the program leaves. Calls are served one at a time,
// and none after a successful one.
func (d *departure) sayGoodbye(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return leftSilently(ctx.Err(), nil)
	}
	if d.gone {
		return nil
	}
	d.state.Leave()
	d.gossip.Announce(ctx)
	began := d.state.Clock.Mono()
	for {
		done, err := d.tryGoodbye(ctx)
		if done {
			d.gone = true
			return nil
		}
		if silent := d.silentSince(began); silent >= d.window() {
			return leftSilently(failure.Errorf(sequencer.ErrUnavailable, "no commit for %v; quorum lost",
				silent.Round(time.Millisecond)), err)
		}
		if !signal.Sleep(ctx, leaveEvery) {
			return leftSilently(ctx.Err(), err)
		}
	}
}

// tryGoodbye reports whether the member has left, or why it has not yet.
func (d *departure) tryGoodbye(ctx context.Context) (done bool, err error) {
	node, alone := d.raft.Node(), !d.othersStay()
	leads := node.Leads() // once: it may be elected at any time
	if d.allLeave = cmp.Or(d.allLeave, d.state.Clock.Mono()); !alone {
		d.allLeave = 0
	}
	switch {
	case alone && leads && d.leavesLast():
		return false, errors.New("the other members have not left yet")
	case alone && (leads || !d.leavesFirst(node)):
		d.stopInOrder(ctx)
		d.gossip.Leave(ctx, false)
		d.audit.Write(audit.Entry{Action: audit.Leave, Name: d.gossip.Describe(d.self), Who: "this process"})
		return true, nil
	case leads:
		return false, errors.New("no other voter has taken the lead yet") // its step passes the lead on
	case node == nil: // it is in no grid
		d.gossip.Leave(ctx, true)
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.window()) // a silent leader does not reply
	defer cancel()
	go func() {
		for signal.Sleep(ctx, leaveEvery) {
			d.seesLeader()
		}
	}()
	err = d.formation.AtLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: d.self, Server: string(node.Server)})
	if err != nil {
		return false, err
	}
	d.gossip.Leave(ctx, true) // agreed; the log may no longer reach this member
	return true, nil
}

// If all members of a grid with disks or an anchor leave together, the leader leaves last: the others hand over to it,
// and keep their votes until it has stored the end of the grants.
const (
	// othersAwaited bounds the time for which the leader waits for the others.
	othersAwaited = 5 * time.Second
	// stopAwaited bounds the time for which the others wait for the leader.
	stopAwaited = othersAwaited + time.Second
)

// leavesLast reports whether the leader of a grid that all members leave waits until gossip no longer sees another one
// in the roster.
func (d *departure) leavesLast() bool {
	return d.seesMember(func(gossip.Peer) bool { return true }) && d.stopsWithin(othersAwaited)
}

// leavesFirst reports whether a member that does not lead waits: all members leave, and the leader has not stored the
// end of the grants.
func (d *departure) leavesFirst(node *raftlog.Node) bool {
	return node != nil && d.seesLeader() && d.state.Roster().Stopped == 0 && d.stopsWithin(stopAwaited)
}

// stopsWithin reports whether the end of the grants can be stored, and this member saw that all others leave within
// the last limit.
func (d *departure) stopsWithin(limit time.Duration) bool {
	return (d.durable() || d.anchorage.configured()) && d.state.Clock.Mono()-d.allLeave < limit
}

// silentSince returns the time since the last agreement that this member received; at most the time
// since began if there was none before.
func (d *departure) silentSince(began time.Duration) time.Duration {
	if age := d.state.RaiseAge(); age >= 0 {
		return age
	}
	return d.state.Clock.Mono() - began
}

func (d *departure) window() time.Duration {
	return cmp.Or(d.state.Roster().Settings.Window, roster.DefaultWindow).Duration()
}

// leftSilently returns the error for a member that ends without a goodbye.
func leftSilently(cause, last error) error {
	return errors.Join(failure.Errorf(sequencer.ErrUnavailable, "grid: leave: departure not announced: %w", cause), last)
}

// stopInOrder records the end of the grants in the roster, if this member is the last of a
// durable grid and no grant can be used any longer (S1). Without it the grid restarts at its
// ceiling, which is safe and costs a wait.
func (d *departure) stopInOrder(ctx context.Context) {
	r := d.state.Roster()
	if node := d.raft.Node(); !d.durable() && !d.anchorage.configured() || !node.Leads() || len(r.Members) != 1 ||
		!r.Assigned() {
		return
	}
	d.state.Ended.Store(true) // no actor grants anything from its next request on
	bound, cancel := context.WithTimeout(ctx, storeAwaited)
	defer cancel()
	var stop clustertime.Tick
	for id := range r.Partitions {
		high, err := d.host.Granted(bound, roster.PartitionID(id))
		if err != nil {
			d.log.Info("the grid will start again at its ceiling", "reason", err)
			return
		}
		stop = max(stop, high)
	}
	c := roster.Command{From: r.Version, Claim: r.Claim, Change: &roster.Change{Stop: max(1, stop)}}
	_, err := bounded.Do(bound, new(bounded.Calls), "store the end of the grants",
		func(context.Context) (struct{}, error) { return struct{}{}, d.raft.Propose(c) })
	if err != nil { // it may be stored nevertheless, which is true then
		d.log.Info("the grid will start again at its ceiling", "reason", err)
		return
	}
	if d.anchorage.configured() {
		d.awaitLower(ctx, stop)
	}
	d.log.Info("grid stopped cleanly", "granted_until", stop.Time())
}

const (
	// storeAwaited bounds the wait for the end of the grants to be stored: the disk may hang.
	storeAwaited = 5 * time.Second
	// lowerAwaited bounds the wait for the anchor to record that the last member stopped.
	lowerAwaited = 3 * time.Second
)

// awaitLower waits until the leader's step has lowered the anchor's limit to where grants ended
// (A8). Without that the next life waits until the limit has passed.
func (d *departure) awaitLower(ctx context.Context, stop clustertime.Tick) {
	ctx, cancel := context.WithTimeout(ctx, lowerAwaited)
	defer cancel()
	for ctx.Err() == nil {
		if s, leads := d.anchorage.now(); !leads || s.Record.Ceiling <= max(1, stop) {
			return
		}
		signal.Sleep(ctx, leaveEvery)
	}
	d.log.Info("anchor limit not lowered; the next start waits for it")
}

// othersStay reports whether another member is alive that does not leave. A leader that gossip does not see, since the
// gossip keys differ, for example, counts while its raises arrive, unless gossip saw it leaving.
func (d *departure) othersStay() bool {
	sees, found := d.seesLeader(), d.seesMember(func(p gossip.Peer) bool { return !p.Leaving })
	if ends := d.ends.Load(); ends != nil && *ends == d.raft.Node().Leader() {
		return found
	}
	return found || d.followsLeader() && !sees
}

// seesMember reports whether gossip sees another member of the roster that is accepted.
func (d *departure) seesMember(accepts func(gossip.Peer) bool) bool {
	r := d.state.Roster()
	_, found := d.gossip.Find(func(p gossip.Peer) bool {
		_, in := r.Member(p.Incarnation)
		return in && p.Incarnation != d.self && accepts(p)
	})
	return found
}

// followsLeader reports whether another member leads this one, and raised the ceiling within the last half window.
func (d *departure) followsLeader() bool {
	node := d.raft.Node()
	return node.Leader() != "" && !node.Leads() && d.raisedOfLate()
}

// raisedOfLate reports whether the ceiling was raised within the last half window.
func (d *departure) raisedOfLate() bool {
	age := d.state.RaiseAge()
	return age >= 0 && age < d.window()/2
}

// seesLeader reports whether gossip sees the leader alive, or the last one while there is none. If that is this member,
// or is not known, any other may be the next.
func (d *departure) seesLeader() bool {
	node := d.raft.Node()
	if node == nil {
		return false
	}
	id := node.Leader()
	if last := d.last.Load(); id == "" && last != nil {
		id = *last
	}
	if id == "" && d.raisedOfLate() { // the lead passed as this member began to leave
		id = string(node.Server)
	}
	if id == "" {
		return false
	}
	d.last.Store(&id)
	leader, alive := d.gossip.Find(func(p gossip.Peer) bool {
		if id == string(node.Server) {
			return p.Incarnation != d.self
		}
		return string(raftlog.ServerID(p.Incarnation, p.Durable)) == id
	})
	if alive && leader.Leaving {
		d.ends.Store(&id)
	}
	return alive
}

// askOutEvery is the interval at which a member with a failed disk requests its removal.
const askOutEvery = 200 * time.Millisecond

// watchPart waits until this member's part in the grid ends, and then sees to it that
// other members take its place, until they have or ctx ends.
func (d *departure) watchPart(ctx context.Context) {
	diskFailed, rosterLost := d.raft.Failed()
	select {
	case <-diskFailed:
	case <-rosterLost:
	case <-ctx.Done():
		return
	}
	d.stepDown()
	alone := false
	for ctx.Err() == nil {
		switch {
		case !d.lone && d.othersStay():
			if err := d.askOut(ctx); err == nil {
				d.log.Warn("other members have replaced this member; its handles continue", "reason", d.raft.Failure())
				return
			}
		case !alone:
			alone = true
			d.log.Error("no member can take over: holders wait when their grants end", "reason", d.raft.Failure())
		}
		signal.Sleep(ctx, askOutEvery)
	}
}

// stepDown ends this member's part in the agreement, and logs the reason.
func (d *departure) stepDown() {
	err := d.raft.Failure()
	if failed, is := errors.AsType[*raftlog.DiskError](err); is {
		d.log.Error("disk failed: this member no longer writes or votes", "advice", raftlog.DiskAdvice,
			"dir", failed.Dir, "while", failed.Doing, "error", failed.Cause)
	} else {
		d.log.Error("roster lost: this member cannot read it, and no longer grants or votes", "advice",
			raftlog.DivergenceAdvice, "error", err)
	}
	d.state.Fail(err)
	d.state.Leave()
	if d.gossip != nil {
		d.life.Background(d.gossip.Announce)
	}
	if node := d.raft.Node(); node != nil {
		ending := node.Stop()
		d.life.Background(func(context.Context) { _ = ending.Error() })
	}
}

// askOut requests this member's removal from the leader, and returns when that is agreed. From here
// on it grants nothing: it no longer receives changes of owners. Before it reaches a leader it
// grants below its current ceiling, like an isolated member, so that the last member can still take
// nodes back.
func (d *departure) askOut(ctx context.Context) error {
	d.state.Ended.Store(true)
	server := raftlog.ServerID(d.self, d.durable())
	return d.formation.AtLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: d.self, Server: string(server),
		Failed: true})
}
