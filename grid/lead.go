package grid

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// lead is one lead of this member: it runs the leader's machine (package leader) and
// carries out what that decides. It implements leader.Member.
type lead struct {
	m        *Member
	node     *raftlog.Node
	caughtUp bool            // this member has applied the log of the leaders before it
	ctx      context.Context // ends with the lead
	end      context.CancelFunc
	calls    sync.WaitGroup // whose outcomes the machine waits for

	mu      sync.Mutex     // guards what follows; never held while waiting
	machine *leader.Leader // nil when the lead has ended
}

// runLead runs until ctx ends; it does nothing while another member leads.
func (m *Member) runLead(ctx context.Context) {
	ticker := time.NewTicker(leader.StepEvery)
	defer ticker.Stop()
	for {
		if node := m.raft.Node(); node.Leads() {
			m.beginLead(ctx, node).step(ctx)
		} else {
			m.endLead()
		}
		select {
		case <-ctx.Done():
			m.endLead()
			return
		case <-ticker.C:
		case <-m.leadNow:
		}
	}
}

// beginLead returns the present lead, a new one if there is none.
func (m *Member) beginLead(ctx context.Context, node *raftlog.Node) *lead {
	if l := m.lead.Load(); l != nil {
		return l
	}
	l := &lead{m: m, node: node}
	l.ctx, l.end = context.WithCancel(ctx)
	l.machine = leader.New(leader.Config{Self: m.record(), Grid: m.formation.Grid(), Expect: m.formation.Expect()}, l)
	m.lead.Store(l)
	return l
}

// endLead ends the present lead, and returns when nothing of it is left.
func (m *Member) endLead() {
	l := m.lead.Swap(nil)
	if l == nil {
		return
	}
	l.do(func(machine *leader.Leader, _ leader.View) {
		machine.Resign()
		l.machine = nil
	})
	l.end()
	l.calls.Wait()
}

// step does everything that is due, once this member has applied the log of the leaders
// before it, and the grid is formed.
func (l *lead) step(ctx context.Context) {
	if !l.caughtUp {
		if l.node.Raft.Barrier(transport.RaftCallTimeout).Error() != nil {
			return
		}
		l.caughtUp = true
		l.m.log.Info("this member leads the grid")
	}
	if !l.m.state.Roster().Formed() {
		l.m.reportStep("form the grid", l.m.formation.Begin(ctx))
		return
	}
	if err := l.m.formation.NoteFormed(); err != nil {
		l.m.reportStep("record that the grid is formed", err)
		return
	}
	l.do(func(machine *leader.Leader, v leader.View) { machine.Step(v) })
}

// do calls the machine, and reports whether the lead has not ended.
func (l *lead) do(f func(machine *leader.Leader, v leader.View)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.machine != nil {
		f(l.machine, l.m.leaderView(l.node))
	}
	return l.machine != nil
}

// leaderView returns what this member knows now.
func (m *Member) leaderView(node *raftlog.Node) leader.View {
	v := leader.View{
		Roster: m.state.Roster(), Mono: m.clock.Mono(), Wall: clustertime.TickOf(m.cfg.Clock.Now()), Leaving: m.state.Leaving(),
	}
	if last := m.state.LastRaise(); last != nil {
		v.Raised = leader.Raise{Time: last.Time, At: last.At}
	}
	servers, _ := node.Servers()
	for _, s := range servers {
		v.Servers = append(v.Servers, leader.Server{ID: leader.ServerID(s.ID), Voter: s.Suffrage == raft.Voter})
	}
	for _, p := range m.gossip.Peers() {
		v.Peers = append(v.Peers, leader.Peer{Incarnation: p.Incarnation, API: p.API, Durable: p.Durable, Leaving: p.Leaving})
	}
	return v
}

// Probe implements leader.Member.
func (l *lead) Probe(p leader.Probe) {
	l.calls.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, p.Timeout)
		defer cancel()
		hello, err := l.m.caller.Hello(ctx, p.API, p.To)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wire.ErrNotAddressed) {
			err = failure.Errorf(leader.ErrAbsent, "%w", err)
		}
		answer := leader.Answer{
			Record: hello.Record, Grid: hello.Grid, Version: hello.Version, Wall: hello.Wall, Time: hello.Time,
			Leaving: hello.Leaving, DiskFailed: hello.DiskFailed,
		}
		l.do(func(machine *leader.Leader, v leader.View) { machine.Probed(v, p, answer, err) })
	})
}

// Propose implements leader.Member.
func (l *lead) Propose(c roster.Command) {
	before := l.m.state.Roster()
	l.calls.Go(func() {
		err := l.m.raft.Propose(c)
		if c.Raise != nil {
			l.m.reportStep("raise the ceiling", err)
		} else {
			l.m.reportChange(before, c.Change, err)
		}
		l.do(func(machine *leader.Leader, v leader.View) { machine.Proposed(v, c, err) })
	})
}

// Reconfigure implements leader.Member. A server keeps the address that it was
// configured with: where it is now the addressBook knows, and Raft reads a server's
// address while it writes a new one (hashicorp/raft v1.8.0, updateLastAppended).
func (l *lead) Reconfigure(c leader.Reconfiguration) {
	id, node := raft.ServerID(c.Server), l.node.Raft
	operations := map[leader.Operation]struct {
		name string
		do   func() raft.IndexFuture
	}{
		leader.AddLearner: {"add a server", func() raft.IndexFuture {
			return node.AddNonvoter(id, transport.RaftAddress(id, c.Member.Raft), 0, transport.RaftCallTimeout)
		}},
		leader.Promote: {"promote a voter", func() raft.IndexFuture { return node.AddVoter(id, l.node.Address(id), 0, transport.RaftCallTimeout) }},
		leader.Demote:  {"demote a voter", func() raft.IndexFuture { return node.DemoteVoter(id, 0, transport.RaftCallTimeout) }},
		leader.Remove:  {"remove a server", func() raft.IndexFuture { return node.RemoveServer(id, 0, transport.RaftCallTimeout) }},
	}
	l.calls.Go(func() {
		operation := operations[c.Do]
		l.m.reportStep(operation.name, operation.do().Error())
		l.do(func(machine *leader.Leader, v leader.View) { machine.Reconfigured(v, c) })
	})
}

// TransferLead implements leader.Member.
func (l *lead) TransferLead(to leader.ServerID) {
	l.calls.Go(func() {
		id := raft.ServerID(to)
		l.m.reportStep("pass the lead on", l.node.Raft.LeadershipTransferToServer(id, l.node.Address(id)).Error())
		l.do(func(machine *leader.Leader, _ leader.View) { machine.LeadTransferred() })
	})
}
