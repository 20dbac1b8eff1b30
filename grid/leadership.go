package grid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// leadership is this member's part as a leader of its grid, now and then. Every member may
// become the leader, and brings the leader's calls to it (joinleave.go).
type leadership struct {
	*deps

	ownView   helloServer
	seen      seenPeers            // gossip's peers, converted for the machine
	current   atomic.Pointer[lead] // the present lead, nil while another member leads
	now       signal.Signal        // the leader's step is due, or another member leads
	sooner    signal.Signal        // the leader's step is due earlier than last announced
	monitor   *leaderMonitor       // watches the leader that this member follows
	awaits    recent               // members that a request waits for
	refusals  recent               // members that refuse calls
	following atomic.Bool          // a request for a leader's pushes is in progress
	dismissal *dismissal
	shares    *numberShares // shares of the room for numbers
	pages     pushPages     // pages of a roster being pushed to this member
	clocks    voterClocks
	removals  removals

	mu      sync.Mutex // guards telling
	telling bool       // a report of an earlier run's grant is in progress
}

// calls returns the calls that the leader serves, and the calls that forward a request to it.
func (o *leadership) calls() []*api.Call {
	return append(o.identityCalls(),
		api.Typed(wire.PathJoin, o.serveJoin).ForMembers().OfAnyClaim(),
		api.Typed(wire.PathLeave, o.serveLeave).ForMembers().OfAnyClaim(),
		api.Typed(wire.PathEarlier, o.serveEarlier).ForMembers(),
		api.Typed(wire.PathHeld, o.serveHeld).ForMembers(),
		api.Typed(wire.PathPush, o.servePush).ForMembers(),
		api.Typed(wire.PathFollow, o.serveFollow).ForMembers().OfAnyClaim(),
		api.Typed(wire.PathForget, o.serveForget).ForTarget(),
		api.Typed(wire.PathRemove, o.serveRemove).ForTarget(),
		api.Typed(wire.PathTake, o.serveTake).ForTarget(),
		api.Typed(wire.PathSettings, o.serveSettings),
	)
}

// lead is one leadership of this member: it drives the leader's machine (package leader) and
// carries out its decisions. It implements leader.Member.
type lead struct {
	of       *leadership
	node     *raftlog.Node
	caughtUp atomic.Uint64   // the term in which this member applied the log of the leaders before it, 0 = not yet
	ctx      context.Context // ends with the lead
	end      context.CancelFunc
	calls    sync.WaitGroup // calls whose outcomes the machine waits for
	pushes   pushes

	mu      sync.Mutex     // guards what follows; never held while waiting
	machine *leader.Leader // nil when the lead has ended
	due     time.Duration  // when the next step is, by the monotonic clock
}

// run runs until ctx ends; it does nothing while another member leads.
func (o *leadership) run(ctx context.Context) {
	defer o.end()
	for ctx.Err() == nil {
		changed := o.state.Changed()
		if node := o.raft.Node(); node.Leads() {
			l := o.begin(ctx, node)
			l.step(ctx)
			l.awaitStep(ctx, changed)
			continue
		}
		o.end()
		var again <-chan time.Time
		if o.raft.Node().Elected() { // its disk hangs, which ends without a signal
			again = time.After(leader.StepEvery)
		}
		select {
		case <-ctx.Done():
		case <-o.now:
		case <-again:
		}
	}
}

// awaitStep returns when the next step is due. While none is due soon, a change of this member's
// state makes it due.
func (l *lead) awaitStep(ctx context.Context, changed <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.mu.Lock()
		wait := l.due - l.of.clock.Mono()
		l.mu.Unlock()
		if wait <= 0 {
			return
		}
		timer.Reset(wait)
		news := changed
		if wait <= leader.StepEvery {
			news = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-l.of.now:
			return
		case <-news:
			return
		case <-l.of.sooner:
		}
	}
}

// begin returns the present lead, a new one if there is none.
func (o *leadership) begin(ctx context.Context, node *raftlog.Node) *lead {
	if l := o.current.Load(); l != nil {
		return l
	}
	l := &lead{of: o, node: node}
	l.ctx, l.end = context.WithCancel(ctx)
	l.machine = leader.New(leader.Config{
		Silence: o.monitor.silenceBefore(node), Self: o.record(), Grid: o.formation.Grid(), Expect: o.formation.Expect(),
		Release: wire.OwnRelease(), Anchored: o.anchorage.configured(), Ahead: o.anchorage.ahead,
	}, l)
	o.current.Store(l)
	if !o.lone {
		l.calls.Go(l.pushChanges)
	}
	return l
}

// end ends the present lead, and returns when nothing of it is left.
func (o *leadership) end() {
	l := o.current.Swap(nil)
	if l == nil {
		return
	}
	l.do(func(machine *leader.Leader, _ leader.View) {
		machine.Resign()
		l.machine = nil
	})
	l.end()
	l.calls.Wait()
	o.anchorage.forget()
	o.clocks.forget()
}

// step does everything that is due, once this member has applied the log of the leaders
// before it, and the grid is formed.
func (l *lead) step(ctx context.Context) {
	l.mu.Lock()
	l.due = l.of.clock.Mono() + leader.StepEvery // unless the machine sets an earlier time
	l.mu.Unlock()
	if l.caughtUp.Load() == 0 {
		term := l.node.Raft.CurrentTerm()
		if l.node.Barrier() != nil {
			return
		}
		l.caughtUp.Store(term)
		l.of.log.Info("this member leads the grid")
	}
	if l.node.GivenUp() == nil && !l.of.state.Roster().Formed() {
		l.of.reportStep("form the grid", l.of.formation.Begin(ctx))
		return
	}
	if err := l.of.formation.NoteFormed(); err != nil {
		l.of.reportStep("record that the grid is formed", err)
		return
	}
	l.do(func(machine *leader.Leader, v leader.View) {
		machine.Step(v)
		l.noteAnchor(machine, v)
	})
}

// do calls the machine, has it stepped when it is due afterwards, and reports whether the lead
// has not ended.
func (l *lead) do(f func(machine *leader.Leader, v leader.View)) bool {
	return l.doIfDue(func(machine *leader.Leader, v leader.View) bool {
		f(machine, v)
		return true
	})
}

// doIfDue is do for a call that reports whether it made a step due. If not, it skips the machine's
// computation of the next due time, which looks at every member.
func (l *lead) doIfDue(f func(machine *leader.Leader, v leader.View) (due bool)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.machine == nil {
		return false
	}
	v := l.of.view(l.node)
	if due := f(l.machine, v); !due || l.machine == nil { // f may have ended the lead
		return true
	}
	before := l.due
	if l.due = v.Mono + l.machine.Due(v); l.due < before {
		l.of.sooner.Send()
	}
	return true
}

func (l *lead) Probe(p leader.Probe) {
	l.calls.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, p.Timeout+lateBy)
		defer cancel()
		began := l.of.clock.Mono()
		unanswered := time.AfterFunc(p.Timeout, func() {
			l.do(func(machine *leader.Leader, v leader.View) {
				machine.Probed(v, p, leader.Answer{}, context.DeadlineExceeded)
			})
		})
		ask := l.hello
		if _, member := l.of.state.Roster().Member(p.To); member && p.To.Member() != l.of.self.Member() {
			ask = l.ask
		}
		by := p.To
		hello, err := ask(ctx, p.API, by)
		if errors.Is(err, leader.ErrAbsent) {
			l.of.refusedProbe(p.To)
			if p.AnyStart {
				hello, err = helloOfMember(ctx, l.of.caller, p)
				by = hello.Incarnation
			}
		}
		var answer leader.Answer
		if err == nil {
			answer = l.answered(by, hello, began)
		}
		if !unanswered.Stop() {
			if err == nil && by == p.To { // a late reply still proves that the member is alive
				l.doIfDue(func(machine *leader.Leader, v leader.View) bool { return machine.PushAnswered(v, p.To, began, answer) })
			}
			return
		}
		l.do(func(machine *leader.Leader, v leader.View) { machine.Probed(v, p, answer, err) })
	})
}

// answered returns a member's view of itself for the machine, and records the clock in it: the
// answer to a call that began at a time.
func (l *lead) answered(of roster.Incarnation, hello wire.HelloResponse, began time.Duration) leader.Answer {
	l.noteClock(of, hello.Wall, began)
	return leader.Answer{
		Record: hello.Record, Grid: hello.Grid, Version: hello.Version, Wall: hello.Wall, Time: hello.Time,
		Leaving: hello.Leaving, DiskFailed: hello.DiskFailed, Claim: hello.Claim, Release: hello.Release,
	}
}

// noteClock records a member's wall clock, which it read between began and now.
func (l *lead) noteClock(of roster.Incarnation, wall clustertime.Tick, began time.Duration) {
	clock := l.of.clock
	if now := clock.Now(); now > 0 && wall > 0 {
		read := now.Add(-clustertime.SpanOf((clock.Mono() - began) / 2))
		l.of.clocks.note(of, wall.Sub(read).Duration(), clock.Mono())
	}
}

func (l *lead) Propose(c roster.Command) {
	before, began := l.of.state.Roster(), l.of.clock.Mono()
	l.calls.Go(func() {
		err := l.of.raft.Propose(c)
		switch {
		case c.Raise != nil:
			if err == nil { // cluster time was Time as the raise was proposed
				l.of.state.Advance(c.Raise.Time.Add(clustertime.SpanOf(l.of.clock.Mono()-began)), c.Raise.Time)
			}
			l.of.reportStep("raise the ceiling", err)
		case c.Reset != nil:
			l.of.reportReset(c.Reset, err)
		case c.Identity != nil: // reported to its caller
		default:
			l.of.reportChange(before, c.Change, err)
		}
		l.do(func(machine *leader.Leader, v leader.View) { machine.Proposed(v, c, err) })
	})
}

func (l *lead) Reconfigure(c leader.Reconfiguration) {
	l.calls.Go(func() {
		err := l.node.Reconfigure(c.Do, raft.ServerID(c.Server), c.Member.Raft)
		l.of.reportStep(operations[c.Do], err)
		l.do(func(machine *leader.Leader, v leader.View) { machine.Reconfigured(v, c) })
		if err == nil {
			l.of.now.Send() // the step that needed the server is due
		}
	})
}

// operations are the log's names for changes of Raft's servers.
var operations = map[leader.Operation]string{
	leader.AddServer: "add a server", leader.Promote: "promote a voter", leader.Demote: "demote a voter",
	leader.Remove: "remove a server",
}

func (l *lead) TransferLead(to leader.ServerID) {
	l.calls.Go(func() {
		l.of.reportStep("transfer the leadership", l.node.PassLead(raft.ServerID(to)))
		l.do(func(machine *leader.Leader, _ leader.View) { machine.LeadTransferred() })
	})
}
