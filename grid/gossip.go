package grid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// peer is a member as gossip knows it. It is a hint: nothing that uniqueness
// rests on is taken from it.
type peer struct {
	Incarnation roster.Incarnation `json:"-"`
	Gossip      string             `json:"-"`
	Raft        string             `json:"raft"`
	API         string             `json:"api"`
	Durable     bool               `json:"durable"`
	Grid        roster.GridID      `json:"grid"`           // zero: in no grid yet
	Left        string             `json:"left,omitempty"` // of a member in no grid, the grid it left to form another
	Leaving     bool               `json:"leaving"`

	noted time.Time // when it said this
}

// Gossip's pace: a crash is agreed on within about 2.5 s.
const (
	probeInterval  = 300 * time.Millisecond
	probeTimeout   = 150 * time.Millisecond
	gossipInterval = 100 * time.Millisecond
	pushPullEvery  = 5 * time.Second
	gossipTimeout  = 2 * time.Second
	goodbyeTimeout = 500 * time.Millisecond
	rejoinEvery    = time.Second
)

// gossip is the member's view of who is alive, by memberlist.
type gossip struct {
	m         *Member
	transport *transport.Gossip
	list      *memberlist.Memberlist

	mu        sync.Mutex    // guards what follows; never held while waiting
	own       roster.GridID // this member's grid, zero: none
	alive     map[roster.Incarnation]peer
	strangers map[stranger]*sighting
}

// newGossip begins to listen and to answer.
func newGossip(m *Member) (*gossip, error) {
	g := &gossip{m: m, own: m.grid(), alive: map[roster.Incarnation]peer{}, strangers: map[stranger]*sighting{}}
	var err error
	g.transport, err = transport.NewGossip(m.ctx, transport.GossipConfig{
		Network: m.cfg.Network, Grid: m.cfg.Name, Bind: m.cfg.GossipAddr, AdvertiseHost: m.cfg.AdvertiseHost,
		Keyed: len(m.cfg.GossipKey) > 0,
	})
	if err != nil {
		return nil, refusal.Invalid("GossipAddr: %v", err)
	}
	m.addrs.Gossip = g.transport.Addr()
	if g.list, err = memberlist.Create(g.config()); err != nil {
		return nil, errors.Join(fmt.Errorf("grid: start gossip: %w", err), g.transport.Shutdown())
	}
	return g, nil
}

func (g *gossip) config() *memberlist.Config {
	conf := memberlist.DefaultLANConfig()
	conf.Name = string(g.m.self)
	conf.Transport = g.transport
	conf.Label = g.m.cfg.Name
	conf.BindPort, conf.AdvertisePort = 0, 0
	conf.ProbeInterval, conf.ProbeTimeout = probeInterval, probeTimeout
	conf.SuspicionMult, conf.SuspicionMaxTimeoutMult = 3, 3
	conf.GossipInterval, conf.PushPullInterval, conf.TCPTimeout = gossipInterval, pushPullEvery, gossipTimeout
	conf.EnableCompression = false
	conf.Delegate, conf.Events, conf.Alive, conf.Merge = g, g, g, g
	if len(g.m.cfg.GossipKey) > 0 {
		conf.SecretKey = g.m.cfg.GossipKey
	}
	conf.Logger = g.m.library.Lines("gossip")
	return conf
}

// peers returns everybody alive, this member too, by incarnation.
func (g *gossip) peers() []peer {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]peer, 0, len(g.alive))
	for _, p := range g.alive {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b peer) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
	return out
}

// find returns a live peer that want holds for.
func (g *gossip) find(want func(peer) bool) (peer, bool) {
	for _, p := range g.peers() {
		if want(p) {
			return p, true
		}
	}
	return peer{}, false
}

// announce tells everybody that what this member says of itself has changed.
func (g *gossip) announce() {
	if err := g.list.UpdateNode(gossipTimeout); err != nil {
		g.m.log.Debug("announcement not sent yet", "error", err)
	}
}

// rejoin looks for members that gossip does not know: the configured addresses,
// resolved anew each time, and members of the roster that are not alive. It goes
// on for ever, since memberlist forgets the dead and never heals a cut by itself.
func (g *gossip) rejoin(ctx context.Context) {
	for ctx.Err() == nil {
		var wg sync.WaitGroup
		for _, addr := range g.missing(ctx) {
			wg.Go(func() {
				if _, err := g.list.Join([]string{addr}); err != nil {
					g.m.log.Debug("no answer from a member yet", "addr", addr, "error", err)
				}
			})
		}
		wg.Wait()
		g.tellStrangers()
		var refused *transport.NameRefusedError
		if errors.As(g.transport.Refusal(), &refused) && len(g.peers()) < 2 {
			g.m.state.Fail(refusal.Invalid("Name: %v", refused))
		}
		select {
		case <-ctx.Done():
		case <-time.After(rejoinEvery):
		}
	}
}

// missing returns the addresses at which somebody should be that gossip does not
// see.
func (g *gossip) missing(ctx context.Context) []string {
	var want []string
	for _, name := range g.m.cfg.Join {
		addrs, err := transport.Lookup(ctx, g.m.cfg.Network, name, GossipPort)
		if err != nil {
			g.m.log.Warn("join address not resolved; trying again", "addr", name, "error", err)
		}
		want = append(want, addrs...)
	}
	for _, member := range g.m.state.Roster().Members {
		want = append(want, member.Gossip)
	}
	seen := map[string]bool{g.m.addrs.Gossip: true, "": true}
	for _, p := range g.peers() {
		seen[p.Gossip] = true
	}
	return slices.DeleteFunc(want, func(addr string) bool {
		was := seen[addr]
		seen[addr] = true
		return was
	})
}

// seen says in words whom gossip sees.
func (g *gossip) seen() string {
	var others []string
	for _, p := range g.peers() {
		if p.Incarnation != g.m.self {
			others = append(others, p.Gossip)
		}
	}
	if len(others) == 0 {
		return "no other member was seen"
	}
	return "members seen: " + strings.Join(others, ", ")
}

// goodbye tells whoever still listens that this member has left, so that nobody
// has to find out.
func (g *gossip) goodbye() {
	if err := g.list.Leave(goodbyeTimeout); err != nil {
		g.m.log.Debug("nobody took the goodbye", "error", err)
	}
}

// NodeMeta implements memberlist.Delegate: what this member says of itself.
func (g *gossip) NodeMeta(limit int) []byte {
	m := g.m
	grid, left := m.whereabouts()
	data, err := wire.Encode(wire.MsgPack, peer{
		Raft: m.addrs.Raft, API: m.addrs.API, Durable: m.cfg.DataDir != "", Grid: grid, Left: left, Leaving: m.leaving(m.self),
	})
	if err != nil || len(data) > limit {
		m.log.Error("this member's addresses do not fit gossip", "bytes", len(data), "limit", limit, "error", err)
		return nil
	}
	return data
}

// NotifyMsg implements memberlist.Delegate; no messages are used.
func (g *gossip) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate; no messages are used.
func (g *gossip) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate; no state is exchanged.
func (g *gossip) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate; no state is exchanged.
func (g *gossip) MergeRemoteState([]byte, bool) {}

// NotifyJoin implements memberlist.EventDelegate.
func (g *gossip) NotifyJoin(n *memberlist.Node) { g.note(n) }

// NotifyUpdate implements memberlist.EventDelegate.
func (g *gossip) NotifyUpdate(n *memberlist.Node) { g.note(n) }

// NotifyLeave implements memberlist.EventDelegate.
func (g *gossip) NotifyLeave(n *memberlist.Node) {
	g.mu.Lock()
	delete(g.alive, roster.Incarnation(n.Name))
	g.mu.Unlock()
	g.m.state.Notify()
}

// note copies what a live node says of itself; a node that says nothing that can
// be understood is left out.
func (g *gossip) note(n *memberlist.Node) {
	p, err := readPeer(n)
	if err != nil {
		return
	}
	g.mu.Lock()
	if g.strange(p) {
		g.sight(p)
	} else {
		g.alive[p.Incarnation] = p
		for s := range g.strangers {
			if s.Addr == p.Gossip {
				delete(g.strangers, s)
			}
		}
	}
	g.mu.Unlock()
	g.m.state.Notify()
}

// readPeer reads what a node says of itself.
func readPeer(n *memberlist.Node) (peer, error) {
	p := peer{}
	inc := roster.Incarnation(n.Name)
	if err := errors.Join(inc.Check(), wire.DecodeTolerant(wire.MsgPack, n.Meta, &p)); err != nil {
		return p, err
	}
	p.Incarnation = inc
	p.Gossip = net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
	p.noted = time.Now()
	return p, nil
}
