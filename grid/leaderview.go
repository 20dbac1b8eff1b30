package grid

import (
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
)

// view returns this member's current view. A leader makes one for each reply to each of its calls,
// so its cost does not depend on the grid's size.
func (o *leadership) view(node *raftlog.Node) leader.View {
	v := leader.View{
		Roster: o.state.Roster(), Mono: o.clock.Mono(), Wall: clustertime.TickOf(o.cfg.Clock.Now()),
		Leaving: o.state.Leaving(), Peers: o.seen.of(o.gossip.Peers()),
	}
	if r := node.GivenUp(); r != nil {
		v.Roster = r
	}
	if o.anchorage.configured() {
		v.Draw = drawAnchor()
	}
	if last := o.state.LastRaise(); last != nil {
		v.Raised = leader.Raise(*last)
	}
	servers, _ := node.Servers()
	v.Servers = raftlog.ServersOf(servers)
	return v
}

// seenPeers caches gossip's peers as converted for the machine, until they change.
type seenPeers struct {
	mu    sync.Mutex // guards what follows
	from  []gossip.Peer
	peers []leader.Peer
}

// of converts a list of gossip peers. The same list has the same result, which must not be changed.
func (s *seenPeers) of(from []gossip.Peer) []leader.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(from) == len(s.from) && (len(from) == 0 || &from[0] == &s.from[0]) {
		return s.peers
	}
	s.from, s.peers = from, make([]leader.Peer, 0, len(from))
	for _, p := range from {
		s.peers = append(s.peers, leader.Peer{Incarnation: p.Incarnation, API: p.API, Durable: p.Durable, Leaving: p.Leaving})
	}
	return s.peers
}
