package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Raft's pace.
const (
	// leaderTimeout is the time that a leader without a majority keeps the lead. An idle server answers once
	// per round trip and 150 to 300 ms, or 450 to 900 ms at rest (pace.go).
	leaderTimeout = transport.HeartbeatTimeout
	// loneTimeout is the same for a member without other servers, and how long it waits for one.
	loneTimeout = 500 * time.Millisecond
	// commitTimeout is the commit delay for a server without a push; the maximum is twice that. With the
	// default window a raise comes sooner, so that an idle grid needs no messages for this alone.
	commitTimeout = 2 * time.Second
	snapshotEvery = 2048
	trailingLogs  = 512
)

// ServerConfig configures a member's Raft server.
type ServerConfig struct {
	Self    raft.ServerID
	Member  roster.Incarnation // this process
	Stores  Stores
	State   *state.State // the roster that is agreed on
	Life    *tenure.Life
	Log     *slog.Logger
	Library *librarylog.Log
	// Transport opens the way to other servers of a grid; nil for a member without any.
	Transport func(grid roster.GridID, log hclog.Logger, refused func(error)) (raft.Transport, error)
	// Closed is called when a transport has ended with its node.
	Closed func()
	// LeaderSeen is called when Raft has a leader, which may be this member.
	LeaderSeen func()
	// LeadChanged is called when this member may have gained or lost the lead.
	LeadChanged func()
	// Doubted is called when another server misses the leader that this one follows.
	Doubted func()
	// Unreached is called for servers that do not accept this leader's messages: see [transport.GuardedRaft].
	Unreached func(server leader.ServerID, slow bool)
}

// Server is a member's part in the consensus of its grid and, after leaving it, of the next.
type Server struct {
	cfg      ServerConfig
	stores   Stores     // of the present grid; for Start and Reset alone, which one goroutine calls
	disk     *Log       // the same in every grid; nil without a data directory
	voided   claimsSeen // claims that this process has given up; used as stores is
	diverged *divergence
	refusals librarylog.Sparse
	lowered  chan struct{}        // the roster needs a lower protocol than before
	node     atomic.Pointer[Node] // nil without a grid
}

// NewServer returns a server that takes part in no agreement yet.
func NewServer(cfg ServerConfig) *Server {
	return &Server{cfg: cfg, stores: cfg.Stores, disk: cfg.Stores.Disk, diverged: newDivergence(),
		lowered: make(chan struct{}, 1)}
}

// Start begins to take part in the agreement of a grid. With bootstrap this is the grid's
// first server.
func (s *Server) Start(grid roster.GridID, bootstrap bool) error {
	stores, conf := s.stores, s.raftConfig()
	trans, err := s.open(grid, conf.Logger)
	if err != nil {
		return fmt.Errorf("grid: listen for other members: %w", err)
	}
	last, err := lastEntry(stores.Logs)
	if err != nil {
		return errors.Join(fmt.Errorf("grid: read the log: %w", err), closeTransport(trans))
	}
	if bootstrap {
		first := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: trans.LocalAddr()}}}
		if err := raft.BootstrapCluster(conf, stores.Logs, stores.Stable, stores.Snaps, trans, first); err != nil {
			return errors.Join(fmt.Errorf("grid: form the grid: %w", err), closeTransport(trans))
		}
	}
	var paced atomic.Pointer[pace]
	if guarded, ok := trans.(*transport.GuardedRaft); ok {
		guarded.Unreached = func(id raft.ServerID, slow bool) {
			if p := paced.Load(); p != nil {
				p.trouble()
			}
			s.cfg.Unreached(leader.ServerID(id), slow)
		}
		guarded.Doubted, guarded.Muted = s.cfg.Doubted, s.DiskHang
	}
	roster, learned := newFollowed(grid, s.cfg.Member, s.cfg.State, s.voided), &learned{}
	var started atomic.Pointer[raft.Raft]
	term := func() uint64 {
		if node := started.Load(); node != nil {
			return node.CurrentTerm()
		}
		return 0
	}
	node, err := stores.newRaft(conf, fsm{roster, s.diverged, last, term, s.noteLowered}, trans)
	if err != nil {
		return errors.Join(err, closeTransport(trans))
	}
	started.Store(node)
	if err := s.diverged.failure(); err != nil { // Raft has continued from an older snapshot
		return errors.Join(refusal.Invalid("DataDir: %v", err), node.Shutdown().Error())
	}
	if guarded, ok := trans.(*transport.GuardedRaft); ok {
		guarded.Begin(func() transport.RaftView { return s.view(node, learned) })
	}
	part := &Node{Raft: node, Server: conf.LocalID, followed: roster, learned: learned, diverged: s.diverged,
		pace: newPace(node, conf.HeartbeatTimeout, s.disk), disk: s.disk}
	if s.disk != nil {
		part.broken = s.disk.broken
	}
	paced.Store(part.pace)
	node.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool { return s.observe(part, o) }))
	part.pace.enter(node.State())
	part.guarded, _ = trans.(*transport.GuardedRaft)
	s.SetNode(part)
	s.cfg.LeadChanged()      // it may lead already
	if s.cfg.Life.Closed() { // Close may not have seen it
		return errors.Join(refusal.ErrClosed, part.Stop().Error())
	}
	if bootstrap {
		part.Stand("") // no other server has a vote
	}
	return nil
}

func (s *Server) open(grid roster.GridID, log hclog.Logger) (raft.Transport, error) {
	if s.cfg.Transport == nil {
		_, trans := raft.NewInmemTransport("lone")
		return trans, nil
	}
	return s.cfg.Transport(grid, log, s.refused)
}

func closeTransport(trans raft.Transport) error {
	if c, ok := trans.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}

func (s *Server) raftConfig() *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = s.cfg.Self
	conf.HeartbeatTimeout, conf.ElectionTimeout = transport.HeartbeatTimeout, transport.HeartbeatTimeout
	conf.LeaderLeaseTimeout, conf.CommitTimeout = leaderTimeout, commitTimeout
	if s.cfg.Transport == nil { // no other server's heartbeats are awaited
		conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = loneTimeout, loneTimeout, loneTimeout
	}
	conf.SnapshotThreshold, conf.TrailingLogs = snapshotEvery, trailingLogs
	conf.SnapshotInterval = time.Minute
	conf.MaxAppendEntries = transport.RaftListMax
	conf.ShutdownOnRemove = false
	conf.NoLegacyTelemetry = true
	conf.Logger = s.cfg.Library.Raft()
	return conf
}

// observe reports a new leader, which may be this member and lacks the reports to the last one, and
// this member's leads. It keeps no observation.
func (s *Server) observe(n *Node, o *raft.Observation) bool {
	switch seen := o.Data.(type) {
	case raft.LeaderObservation:
		if seen.LeaderID != "" {
			if seen.LeaderID != n.Server {
				n.heard.Store(&seen.LeaderID)
			}
			s.cfg.LeaderSeen()
		}
	case raft.RaftState:
		n.pace.enter(seen)
		s.cfg.LeadChanged()
	}
	return false
}

func (s *Server) refused(err error) {
	if skipped, due := s.refusals.Due(s.cfg.State.Clock.Mono()); due {
		s.cfg.Log.Warn("Raft message refused", "reason", err, "more", skipped)
	}
}

func (s *Server) view(node *raft.Raft, l *learned) transport.RaftView {
	follows, _ := l.touch()
	return transport.RaftViewOf(node, s.cfg.Self, follows, func(id raft.ServerID) bool {
		_, known := leader.MemberOf(s.cfg.State.Roster(), leader.ServerID(id))
		return known
	})
}

// Self returns the server's ID.
func (s *Server) Self() raft.ServerID { return s.cfg.Self }

// Node returns the part in the present grid, nil without one.
func (s *Server) Node() *Node { return s.node.Load() }

// SetNode makes a node the part in the present grid.
func (s *Server) SetNode(n *Node) { s.node.Store(n) }

// TakesPart reports whether the member takes part in the agreement of its grid.
func (s *Server) TakesPart() bool { return s.Node().Runs() }

// Propose has a command agreed on. Only the leader can.
func (s *Server) Propose(c roster.Command) error { return s.Node().Propose(c) }

// Leave ends the part in the present grid for good.
func (s *Server) Leave() {
	if node := s.Node(); node != nil {
		_ = node.Shutdown() // nil, when it has ended
		s.cfg.Closed()
	}
}

// Reset forgets the log of a grid that the member has left, unless it is on disk.
func (s *Server) Reset() {
	if s.disk == nil {
		s.stores = InMemory()
	}
}

// Void gives up every claim under which this process has had a roster. The part in the agreement has ended; the next
// one begins with the same log.
func (s *Server) Void() {
	if node := s.Node(); node != nil {
		s.voided = node.followed.served()
	}
}

// Clear removes the log of a grid that was never formed.
func (s *Server) Clear() error {
	if s.disk == nil {
		return nil
	}
	return s.disk.Clear()
}

// Close ends the part in the present grid, if there is one.
func (s *Server) Close() error {
	node := s.Node()
	if node == nil {
		return nil
	}
	return node.Shutdown()
}

// DiskFailure returns the first failed write of the log, nil while there was none.
func (s *Server) DiskFailure() error { return s.disk.Failure() }

// DiskHang returns an error while a write of the log does not return.
func (s *Server) DiskHang() error { return s.disk.Hang() }

// Muted returns the error of this member's answers to leaders while its disk hangs, nil otherwise.
func (s *Server) Muted() error {
	if err := s.DiskHang(); err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member takes no part: %w", err)
	}
	return nil
}

// FailDisk makes later writes fail, as after a failed one.
func (s *Server) FailDisk(doing string, cause error) { _ = s.disk.Fail(doing, cause) }

// Failure returns why this member takes part in its grid no longer, nil while it does: its
// disk has failed, or it cannot read the roster.
func (s *Server) Failure() error {
	return cmp.Or(s.DiskFailure(), s.diverged.failure())
}

// Failed returns channels that are closed when the part ends, for either reason.
func (s *Server) Failed() (disk, diverged <-chan struct{}) {
	if s.disk != nil {
		disk = s.disk.broken
	}
	return disk, s.diverged.ended
}
