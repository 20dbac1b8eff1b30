package grid

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// raftNode is the member's part in the agreement on the roster.
type raftNode struct {
	raft   *raft.Raft
	server raft.ServerID
	ended  bool // it was shut down, because the member has left that grid for good
	// proposals are under way; none begins once the member is closed or the node
	// has ended.
	proposals sync.WaitGroup
}

// shutdown ends the node when no proposal is under way: Raft leaves one without an
// answer that it has committed and not applied. Each is over soon, since a leader
// without a majority steps down.
func (n *raftNode) shutdown() error {
	n.proposals.Wait()
	return n.raft.Shutdown().Error()
}

// Raft's pace.
const (
	leaderTimeout = 250 * time.Millisecond
	commitTimeout = 20 * time.Millisecond
	snapshotEvery = 2048
	trailingLogs  = 512
)

// serverID is a member's name in Raft. A durable member keeps it with its log; a
// volatile one is another server at each start, since a server that forgets its
// log would take back votes and acknowledgements that it gave.
func serverID(i roster.Incarnation, durable bool) raft.ServerID {
	if durable {
		return raft.ServerID(i.Member())
	}
	return raft.ServerID(i)
}

// isDurable reports whether a server keeps its log across restarts.
func isDurable(id raft.ServerID) bool { return !strings.Contains(string(id), "-") }

// stores are where Raft keeps its log and snapshots, and the member its definitions.
type stores struct {
	logs   raft.LogStore
	stable raft.StableStore
	snaps  raft.SnapshotStore
	disk   *raftLog // what logs and stable are on disk, nil in memory
	close  func() error

	definitions *definitions.Store // nil in memory
}

// openStores opens the log and the snapshots of a data directory.
func openStores(dir string, log io.Writer) (stores, error) {
	bolt, err := openRaftLog(dir)
	if err != nil {
		return stores{}, refusal.Invalid("DataDir: %v", err)
	}
	snaps, err := openSnapshots(dir, bolt, log)
	if err != nil {
		return stores{}, errors.Join(refusal.Invalid("DataDir: %v", err), bolt.Close())
	}
	return stores{logs: bolt, stable: bolt, snaps: snaps, disk: bolt, close: bolt.Close}, nil
}

// startRaft begins to take part in the agreement. With bootstrap the member is
// the grid's first server.
func (m *Member) startRaft(bootstrap bool) error {
	s, conf := m.stores, m.raftConfig()
	trans, err := m.raftTransport(conf.Logger)
	if err != nil {
		return fmt.Errorf("grid: listen for other members: %w", err)
	}
	last, err := lastEntry(s.logs)
	if err != nil {
		return errors.Join(fmt.Errorf("grid: read the log: %w", err), closeTransport(trans))
	}
	if bootstrap {
		first := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: trans.LocalAddr()}}}
		if err := raft.BootstrapCluster(conf, s.logs, s.stable, s.snaps, trans, first); err != nil {
			return errors.Join(fmt.Errorf("grid: form the grid: %w", err), closeTransport(trans))
		}
	}
	node, err := s.newRaft(conf, fsm{m, last}, trans)
	if err != nil {
		return errors.Join(err, closeTransport(trans))
	}
	if err := m.diverged.failure(); err != nil { // Raft has gone on from an older snapshot
		return errors.Join(refusal.Invalid("DataDir: %v", err), node.Shutdown().Error())
	}
	if guarded, ok := trans.(*transport.GuardedRaft); ok {
		guarded.Begin(func() transport.RaftView { return m.raftView(node, conf.LocalID) })
	}
	node.RegisterObserver(raft.NewObserver(nil, false, m.noteLeader))
	m.mu.Lock()
	m.raft = &raftNode{raft: node, server: conf.LocalID}
	closed := m.life.Closed()
	m.mu.Unlock()
	if closed { // Close may not have seen it
		return errors.Join(refusal.ErrClosed, node.Shutdown().Error())
	}
	return nil
}

// noteLeader wakes whatever waits for a leader when Raft has another one: that one may
// be this member, and knows nothing of what the last one was told. It keeps no
// observation.
func (m *Member) noteLeader(o *raft.Observation) bool {
	if seen, ok := o.Data.(raft.LeaderObservation); ok && seen.LeaderID != "" {
		m.admissions.Load().added.Send()
		m.leadNow.Send()
	}
	return false
}

// closeTransport ends a transport that no Raft node has taken over.
func closeTransport(trans raft.Transport) error {
	if c, ok := trans.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}

func (m *Member) raftConfig() *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = serverID(m.self, m.cfg.DataDir != "")
	conf.HeartbeatTimeout, conf.ElectionTimeout = transport.HeartbeatTimeout, transport.HeartbeatTimeout
	conf.LeaderLeaseTimeout, conf.CommitTimeout = leaderTimeout, commitTimeout
	conf.SnapshotThreshold, conf.TrailingLogs = snapshotEvery, trailingLogs
	conf.SnapshotInterval = time.Minute
	conf.MaxAppendEntries = transport.RaftListMax
	conf.ShutdownOnRemove = false
	conf.NoLegacyTelemetry = true
	conf.Logger = m.library.Raft()
	return conf
}

// raftTransport returns how this member reaches other servers, and they it.
func (m *Member) raftTransport(log hclog.Logger) (raft.Transport, error) {
	if m.lone {
		_, trans := raft.NewInmemTransport("lone")
		return trans, nil
	}
	ln, err := m.listeners.forRaft(m.cfg.Network)
	if err != nil {
		return nil, err
	}
	server := serverID(m.self, m.cfg.DataDir != "")
	stream := transport.NewRaftStream(ln, m.cfg.Network, m.grid(), string(server), m.addrs.Raft, m.cfg.TLS)
	return transport.GuardRaft(transport.NewRaft(stream, addressBook{m}, log), m.refusedRaft), nil
}

// addressBook finds Raft servers by what gossip says of them, so that a member
// that moved is found again.
type addressBook struct{ m *Member }

// ServerAddr implements raft.ServerAddressProvider. Of two processes with a durable
// member's ID the one in the roster is meant, as long as gossip sees it alive.
func (b addressBook) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	addr := ""
	for _, p := range b.m.gossip.peers() {
		if serverID(p.Incarnation, p.Durable) != id {
			continue
		}
		if _, in := b.m.state.Roster().Member(p.Incarnation); in || addr == "" {
			addr = p.Raft
		}
	}
	if addr != "" {
		return raft.ServerAddress(string(id) + "@" + addr), nil
	}
	for _, member := range b.m.state.Roster().Members {
		if serverID(member.Incarnation, member.Durable) == id {
			return raft.ServerAddress(string(id) + "@" + member.Raft), nil
		}
	}
	return "", fmt.Errorf("grid: no address is known of server %s", id)
}

// propose has a command agreed on. Only the leader can.
func (m *Member) propose(c roster.Command) error {
	data, err := wire.EncodeCommand(c)
	if err == nil {
		_, err = wire.DecodeCommand(data) // what no member can read ends them all
	}
	if err != nil {
		return err
	}
	node, err := m.proposer()
	if err != nil {
		return err
	}
	defer node.proposals.Done()
	future := node.raft.Apply(data, transport.RaftCallTimeout)
	if err := future.Error(); err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "grid: the command is not agreed on: %w", err)
	}
	if err, refused := future.Response().(error); refused {
		return err
	}
	return nil
}

// proposer returns the member's Raft node with one more proposal under way.
func (m *Member) proposer() (*raftNode, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.life.Closed():
		return nil, refusal.ErrClosed
	case m.raft == nil || m.raft.ended:
		return nil, refusal.ErrNotLeader
	}
	m.raft.proposals.Add(1)
	return m.raft, nil
}

// node returns the member's Raft node, nil before it knows its grid.
func (m *Member) node() *raftNode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.raft
}

// takesPart reports whether the member takes part in the agreement of its grid.
func (m *Member) takesPart() bool {
	node := m.node()
	return node != nil && !node.ended
}

// leads reports whether this member leads.
func (n *raftNode) leads() bool { return n != nil && n.raft.State() == raft.Leader }

// has reports whether a server is configured, or may be.
func (n *raftNode) has(id raft.ServerID) bool {
	future := n.raft.GetConfiguration()
	if future.Error() != nil {
		return true
	}
	return slices.ContainsFunc(future.Configuration().Servers, func(s raft.Server) bool { return s.ID == id })
}

// leader returns the Raft server ID of the leader, "" while unknown.
func (n *raftNode) leader() string {
	_, id := n.raft.LeaderWithID()
	return string(id)
}

// refusedRaft logs that a Raft message was not believed.
func (m *Member) refusedRaft(err error) {
	if skipped, due := m.raftRefusals.Due(m.clock.Mono()); due {
		m.log.Warn("Raft message refused", "reason", err, "more", skipped)
	}
}

// raftView returns this member's present knowledge of Raft's servers.
func (m *Member) raftView(node *raft.Raft, self raft.ServerID) transport.RaftView {
	return transport.RaftViewOf(node, self, func(id raft.ServerID) bool {
		return slices.ContainsFunc(m.state.Roster().Members, func(member roster.Member) bool {
			return serverID(member.Incarnation, member.Durable) == id
		})
	})
}

// fsm applies agreed commands to the roster.
type fsm struct {
	m    *Member
	last raft.Log // of the log at the start; the zero value if it was empty
}

// lastEntry returns the last entry of a log, the zero value if there is none.
func lastEntry(logs raft.LogStore) (last raft.Log, err error) {
	index, err := logs.LastIndex()
	if err == nil && index > 0 {
		err = logs.GetLog(index, &last)
	}
	return last, err
}

// replays reports whether an entry was in the log at the start, so that its time is old.
// One of a later term takes the place of entries that were never agreed on, of which
// there may be any number.
func (f fsm) replays(entry *raft.Log) bool {
	return entry.Index <= f.last.Index && entry.Term <= f.last.Term
}

// Apply implements raft.FSM; it returns nil or the error of a refused command. After a
// command that cannot be read nothing is applied any more.
func (f fsm) Apply(entry *raft.Log) any {
	if err := f.m.diverged.failure(); err != nil {
		return err
	}
	c, err := wire.DecodeCommand(entry.Data)
	if err != nil {
		return f.m.diverged.because(unreadable(fmt.Sprintf("entry %d of the roster's log", entry.Index), err))
	}
	next, err := f.m.state.Roster().Apply(c)
	if err != nil {
		return err
	}
	f.m.state.Apply(next, c.Raise != nil && !f.replays(entry))
	return nil
}

// Snapshot implements raft.FSM. A roster is never changed, so it is its own copy.
// Of a roster that lacks a command there is none: Raft would start from it.
func (f fsm) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.m.diverged.failure(); err != nil {
		return nil, err
	}
	return rosterSnapshot{f.m.state.Roster()}, nil
}

// Restore implements raft.FSM.
func (f fsm) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }()
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	r, err := wire.DecodeRoster(data)
	if err != nil {
		return f.m.diverged.because(unreadable("a snapshot of the roster", err))
	}
	f.m.state.Apply(r, false)
	return nil
}

type rosterSnapshot struct{ roster *roster.Roster }

// Persist implements raft.FSMSnapshot.
func (s rosterSnapshot) Persist(sink raft.SnapshotSink) error {
	data, err := wire.EncodeRoster(s.roster)
	if err == nil {
		_, err = sink.Write(data)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s rosterSnapshot) Release() {}
