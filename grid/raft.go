package grid

import (
	"context"
	"fmt"
	"net"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
)

// newServer returns this member's Raft server, which takes part in no grid yet.
func (m *Member) newServer() *raftlog.Server {
	cfg := raftlog.ServerConfig{
		Self: raftlog.ServerID(m.self, m.durable()), Member: m.self, Stores: m.stores, State: m.state,
		Life: m.life, Log: m.log, Library: m.library,
		LeaderSeen: func() {
			m.host.LeaderChanged()
			m.leadership.now.Send()
		},
		LeadChanged: func() { m.leadership.now.Send() },
	}
	if !m.lone {
		cfg.Transport = m.raftTransport
		cfg.Unreached = func(server leader.ServerID, slow bool) { m.leadership.unreached(server, slow) }
		cfg.Doubted = func() { m.monitor.sign() } // it is made later
		cfg.Closed = func() { m.listeners.raftEnded() }
	}
	return raftlog.NewServer(cfg)
}

// raftTransport opens the way between this member and the other servers of a grid.
func (m *Member) raftTransport(grid roster.GridID, log hclog.Logger, refused func(error)) (raft.Transport, error) {
	ln, err := m.listeners.forRaft(m.members)
	if err != nil {
		return nil, err
	}
	claims := &claims{deps: &m.deps}
	stream := transport.NewRaftStream(watchedListener{ln, m.files.failed("raft")}, m.members, grid, claims,
		&releases{deps: &m.deps}, string(m.raft.Self()), m.addrs.Raft, m.creds.Credentials,
		func(from net.Addr, who security.Peer, err error) { // its other side is not a member
			m.audit.Write(audit.Entry{Action: string(security.Raft), Who: from.String() + " " + who.String(), Err: err})
		})
	stream.Broken, stream.Election = m.monitor.sign, m.stores.Disk.Election
	m.life.Background(func(ctx context.Context) { claims.dropOthers(ctx, stream) })
	return transport.GuardRaft(transport.NewRaft(stream, addressBook{&m.deps, new(librarylog.Sparse)},
		log), refused), nil
}

// nowhere is an address at which nothing listens.
const nowhere = "127.0.0.1:0"

// addressBook finds Raft servers by gossip, so that a member that moved is found again.
type addressBook struct {
	*deps

	told *librarylog.Sparse // limits log lines about two processes with one member's data
}

// ServerAddr implements raft.ServerAddressProvider. Of two processes with a durable
// member's ID the one in the roster is meant, as long as gossip sees it alive.
func (b addressBook) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	r, addr := b.state.Roster(), ""
	for _, p := range b.gossip.Peers() {
		if raftlog.ServerID(p.Incarnation, p.Durable) != id {
			continue
		}
		if r.Anchored && addr != "" && addr != p.Raft {
			// Two processes have one member's data. The log cannot determine which of them is
			// meant.
			if skipped, due := b.told.Due(b.state.Clock.Mono()); due {
				b.log.Error("two processes have one member's identity; this member calls neither until one of them ends",
					"other", string(p.Incarnation), "at", p.Raft, "and_at", addr, "advice", formation.CloneAdvice, "more", skipped)
			}
			return transport.RaftAddress(id, nowhere), nil
		}
		if _, in := r.Member(p.Incarnation); in || addr == "" {
			addr = p.Raft
		}
	}
	if addr == "" && r.Anchored {
		// The address in the log may lead to a process with a copy of the member's data.
		return transport.RaftAddress(id, nowhere), nil
	}
	if addr == "" {
		member, found := leader.MemberOf(r, leader.ServerID(id))
		if !found {
			return "", fmt.Errorf("grid: no address for server %s", id)
		}
		addr = member.Raft
	}
	return transport.RaftAddress(id, addr), nil
}
