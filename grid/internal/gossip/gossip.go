// Package gossip is a member's view of the members that are alive, by memberlist on a
// transport of this project. It is a hint: a decision that unique IDs rest on takes nothing
// from it. Two grids of one name may meet by gossip; each refuses the members of the other
// (foreign.go).
package gossip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// Peer is a member as gossip knows it. It is a hint: unique IDs rest on nothing in it.
type Peer struct {
	Incarnation roster.Incarnation `json:"-"`
	Gossip      string             `json:"-"`
	Raft        string             `json:"raft"`
	API         string             `json:"api"`
	Durable     bool               `json:"durable"`
	Grid        roster.GridID      `json:"grid"`           // zero: in no grid yet
	Left        string             `json:"left,omitempty"` // of a member in no grid, the grid it left to form another
	Leaving     bool               `json:"leaving"`

	noted time.Time // when it said so
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

// Config says where a member gossips, and what about.
type Config struct {
	Self          roster.Incarnation
	Grid          roster.GridID // this member's, zero: none
	Name          string        // of the grid; members of other names are refused
	Network       transport.Network
	Bind          string   // host:port to listen on
	AdvertiseHost string   // "": the host that is bound
	Join          []string // addresses or host names to find members by
	JoinPort      int      // where Join names no port
	Key           []byte   // encrypts the gossip; nil: clear text
	State         *state.State
	Log           *slog.Logger
	Library       *librarylog.Log
	// About returns this member's description of itself; it needs no Incarnation and no
	// Gossip address.
	About func() Peer
}

// Gossip is the member's view of the members that are alive, by memberlist. The methods
// that only ask may be called on nil, which is the gossip of a member without a network.
type Gossip struct {
	cfg       Config
	transport *transport.Gossip
	list      *memberlist.Memberlist

	mu      sync.Mutex    // guards what follows; never held while waiting
	own     roster.GridID // this member's grid, zero: none
	alive   map[roster.Incarnation]Peer
	foreign map[foreignMember]*encounter
}

// Start begins to listen and to answer.
func Start(ctx context.Context, cfg Config) (*Gossip, error) {
	g := silent(cfg)
	var err error
	g.transport, err = transport.NewGossip(ctx, transport.GossipConfig{
		Network: cfg.Network, Grid: cfg.Name, Bind: cfg.Bind, AdvertiseHost: cfg.AdvertiseHost, Keyed: len(cfg.Key) > 0,
	})
	if err != nil {
		return nil, refusal.Invalid("GossipAddr: %v", err)
	}
	if g.list, err = memberlist.Create(g.config()); err != nil {
		return nil, errors.Join(fmt.Errorf("grid: start gossip: %w", err), g.transport.Shutdown())
	}
	return g, nil
}

// silent returns a gossip that neither listens nor answers.
func silent(cfg Config) *Gossip {
	return &Gossip{cfg: cfg, own: cfg.Grid, alive: map[roster.Incarnation]Peer{}, foreign: map[foreignMember]*encounter{}}
}

// Addr returns where others reach this gossip.
func (g *Gossip) Addr() string { return g.transport.Addr() }

// Close ends the gossip.
func (g *Gossip) Close() error { return g.list.Shutdown() }

func (g *Gossip) config() *memberlist.Config {
	conf := memberlist.DefaultLANConfig()
	conf.Name = string(g.cfg.Self)
	conf.Transport = g.transport
	conf.Label = g.cfg.Name
	conf.BindPort, conf.AdvertisePort = 0, 0
	conf.ProbeInterval, conf.ProbeTimeout = probeInterval, probeTimeout
	conf.SuspicionMult, conf.SuspicionMaxTimeoutMult = 3, 3
	conf.GossipInterval, conf.PushPullInterval, conf.TCPTimeout = gossipInterval, pushPullEvery, gossipTimeout
	conf.EnableCompression = false
	conf.Delegate, conf.Events, conf.Alive, conf.Merge = g, g, g, g
	if len(g.cfg.Key) > 0 {
		conf.SecretKey = g.cfg.Key
	}
	conf.Logger = g.cfg.Library.Lines("gossip")
	return conf
}

// Peers returns all live members, this one too, by incarnation.
func (g *Gossip) Peers() []Peer {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]Peer, 0, len(g.alive))
	for _, p := range g.alive {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Peer) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
	return out
}

// Find returns a live member for which want is true.
func (g *Gossip) Find(want func(Peer) bool) (Peer, bool) {
	for _, p := range g.Peers() {
		if want(p) {
			return p, true
		}
	}
	return Peer{}, false
}

// Announce sends this member's description of itself, which has changed, to all members.
func (g *Gossip) Announce() {
	if err := g.list.UpdateNode(gossipTimeout); err != nil {
		g.cfg.Log.Debug("announcement not sent yet", "error", err)
	}
}

// Rejoin looks for members that gossip does not know: the configured addresses,
// resolved again each time, and members of the roster that are not alive. It continues
// until ctx ends, since memberlist forgets the dead and never heals a cut by itself.
func (g *Gossip) Rejoin(ctx context.Context) {
	for ctx.Err() == nil {
		var wg sync.WaitGroup
		for _, addr := range g.missing(ctx) {
			wg.Go(func() {
				if _, err := g.list.Join([]string{addr}); err != nil {
					g.cfg.Log.Debug("no answer from a member yet", "addr", addr, "error", err)
				}
			})
		}
		wg.Wait()
		g.logForeign()
		var refused *transport.NameRefusedError
		if errors.As(g.transport.Refusal(), &refused) && len(g.Peers()) < 2 {
			g.cfg.State.Fail(refusal.Invalid("Name: %v", refused))
		}
		select {
		case <-ctx.Done():
		case <-time.After(rejoinEvery):
		}
	}
}

// missing returns the addresses of members that gossip should see and does not.
func (g *Gossip) missing(ctx context.Context) []string {
	var want []string
	for _, name := range g.cfg.Join {
		addrs, err := transport.Lookup(ctx, g.cfg.Network, name, g.cfg.JoinPort)
		if err != nil {
			g.cfg.Log.Warn("join address not resolved; trying again", "addr", name, "error", err)
		}
		want = append(want, addrs...)
	}
	for _, member := range g.cfg.State.Roster().Members {
		want = append(want, member.Gossip)
	}
	seen := map[string]bool{g.Addr(): true, "": true}
	for _, p := range g.Peers() {
		seen[p.Gossip] = true
	}
	return slices.DeleteFunc(want, func(addr string) bool {
		was := seen[addr]
		seen[addr] = true
		return was
	})
}

// Seen returns a phrase that lists the other members that gossip sees.
func (g *Gossip) Seen() string {
	var others []string
	for _, p := range g.Peers() {
		if p.Incarnation != g.cfg.Self {
			others = append(others, p.Gossip)
		}
	}
	if len(others) == 0 {
		return "no other member was seen"
	}
	return "members seen: " + strings.Join(others, ", ")
}

// Leave tells the other members that this one has left, so that they need not detect it.
func (g *Gossip) Leave() {
	if err := g.list.Leave(goodbyeTimeout); err != nil {
		g.cfg.Log.Debug("goodbye not sent", "error", err)
	}
}

// NodeMeta implements memberlist.Delegate: this member's description of itself.
func (g *Gossip) NodeMeta(limit int) []byte {
	data, err := wire.Encode(wire.MsgPack, g.cfg.About())
	if err != nil || len(data) > limit {
		g.cfg.Log.Error("this member's addresses do not fit gossip", "bytes", len(data), "limit", limit, "error", err)
		return nil
	}
	return data
}

// NotifyMsg implements memberlist.Delegate; no messages are used.
func (g *Gossip) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate; no messages are used.
func (g *Gossip) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate; no state is exchanged.
func (g *Gossip) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate; no state is exchanged.
func (g *Gossip) MergeRemoteState([]byte, bool) {}

// NotifyJoin implements memberlist.EventDelegate.
func (g *Gossip) NotifyJoin(n *memberlist.Node) { g.note(n) }

// NotifyUpdate implements memberlist.EventDelegate.
func (g *Gossip) NotifyUpdate(n *memberlist.Node) { g.note(n) }

// NotifyLeave implements memberlist.EventDelegate.
func (g *Gossip) NotifyLeave(n *memberlist.Node) {
	g.mu.Lock()
	delete(g.alive, roster.Incarnation(n.Name))
	g.mu.Unlock()
	g.cfg.State.Notify()
}

// note copies a live node's description of itself; a node without a readable one is left
// out.
func (g *Gossip) note(n *memberlist.Node) {
	p, err := readPeer(n)
	if err != nil {
		return
	}
	g.mu.Lock()
	if g.isForeign(p) {
		g.meet(p)
	} else {
		g.alive[p.Incarnation] = p
		for s := range g.foreign {
			if s.Addr == p.Gossip {
				delete(g.foreign, s)
			}
		}
	}
	g.mu.Unlock()
	g.cfg.State.Notify()
}

// readPeer reads a node's description of itself.
func readPeer(n *memberlist.Node) (Peer, error) {
	p := Peer{}
	inc := roster.Incarnation(n.Name)
	if err := errors.Join(inc.Check(), wire.DecodeTolerant(wire.MsgPack, n.Meta, &p)); err != nil {
		return p, err
	}
	p.Incarnation = inc
	p.Gossip = net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
	p.noted = time.Now()
	return p, nil
}
