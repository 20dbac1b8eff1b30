// Package gossip tracks live members, by memberlist on this project's transport. Its view is a hint:
// no decision that uniqueness depends on uses it. Two grids with one name may meet by gossip; each
// refuses the other's members (foreign.go).
package gossip

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/grid/internal/discovery"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Peer is a member as seen by gossip. It is a hint: unique IDs do not depend on it.
type Peer struct {
	Incarnation roster.Incarnation `json:"-"`
	Gossip      string             `json:"-"`
	Raft        string             `json:"raft"`
	API         string             `json:"api"`
	Durable     bool               `json:"durable"`
	Grid        roster.GridID      `json:"grid"`           // zero: in no grid yet
	Left        string             `json:"left,omitempty"` // of a member in no grid, the grid it left to form another
	Leaving     bool               `json:"leaving"`
	FormsNone   bool               `json:"forms_none,omitempty"`       // it joins a grid and forms none: its Expect is 0
	Name        string             `json:"name,omitempty"`             // for display; "" if the member states none
	Release     roster.Release     `json:"release,omitempty,omitzero"` // zero: of protocol 1, or no room for it

	noted time.Time // time of its message
}

const gossipTimeout = 2 * time.Second // of a stream, and of an announcement

// Config configures a member's gossip.
type Config struct {
	Self          roster.Incarnation
	Grid          roster.GridID // this member's, zero: none
	Name          string        // of the grid; members of other names are refused
	Network       transport.Network
	DataDir       string   // keeps the members' names; "": they are kept in memory alone
	Bind          string   // host:port to listen on
	AdvertiseHost string   // "": the host that is bound
	Join          []string // entries to find members by, as of package discovery
	JoinPort      int      // where an entry names no port
	Discover      func(context.Context) ([]string, error)
	Keys          [][]byte // of the gossip, the first encrypts; none: clear text
	Pace          Pace
	State         *state.State
	Log           *slog.Logger
	Library       *librarylog.Log
	// About returns this member's description of itself; it needs no Incarnation and no
	// Gossip address.
	About func() Peer
	// Unanswered is called for each member that did not answer this one's probe. It must not wait.
	Unanswered func(roster.Incarnation)
	// NotAccepted, if not nil, gets the error of a stream that was not accepted. It must not block.
	NotAccepted func(error)
}

// Gossip tracks live members, by memberlist. The read-only methods accept a nil receiver: the gossip
// of a member without a network.
type Gossip struct {
	unused

	cfg       Config
	transport *transport.Gossip
	keys      *transport.Keyring // nil: clear text
	search    search
	list      *memberlist.Memberlist

	mu      sync.Mutex    // guards the fields below; never held while waiting
	own     roster.GridID // this member's grid, zero: none
	alive   map[roster.Incarnation]Peer
	said    map[roster.Incarnation]string // the encoded state behind each entry in alive
	peers   []Peer                        // of alive, sorted; nil after a change, and shared with callers of Peers
	names   map[roster.Incarnation]string // of members that are alive or were
	renamed uint64                        // counts the changes of names
	foreign map[foreignMember]*encounter
	failing map[roster.Incarnation]struct{} // live peers that failed this member's last probe
	noUDP   map[roster.Incarnation]unansweredUDP

	// turn holds a token while memberlist announces, leaves or shuts down. Two announcements at once
	// race, and it panics if it announces or leaves after the end.
	turn         chan struct{}
	left, closed atomic.Bool

	news       signal.Signal // there is news to spread: see spread.go
	subscribes chan struct{} // one for each join by request
	searched   atomic.Bool   // see Searched
}

// Start begins to listen and to answer.
func Start(ctx context.Context, cfg Config) (*Gossip, error) {
	g := silent(cfg)
	var err error
	g.search.finder, err = discovery.New(cfg.Join, discovery.Config{Names: transport.ResolverOf(cfg.Network),
		Port: cfg.JoinPort, Log: cfg.Log, Lookup: cfg.Discover})
	if err != nil {
		return nil, refusal.Invalid("Join %v", err)
	}
	if g.keys, err = transport.NewKeyring(cfg.Keys); err != nil {
		return nil, refusal.Invalid("the gossip key: %v", err)
	}
	g.transport, err = transport.NewGossip(ctx, transport.GossipConfig{
		Network: cfg.Network, Grid: cfg.Name, Bind: cfg.Bind, AdvertiseHost: cfg.AdvertiseHost, Keys: g.keys,
		Release: wire.OwnRelease(), News: g.news.Send, NotAccepted: cfg.NotAccepted,
		Refused: func(err error) {
			cfg.Library.Report(slog.LevelWarn, "gossip message refused", "a process has another gossip key", "error",
				err.Error())
		},
	})
	if err != nil {
		return nil, refusal.Invalid("GossipAddr: %v", err)
	}
	for inc, name := range (&storedNames{dir: cfg.DataDir, log: cfg.Log}).load() {
		g.Learn(inc, name)
	}
	if g.list, err = memberlist.Create(g.config()); err != nil {
		return nil, errors.Join(fmt.Errorf("grid: start gossip: %w", err), g.transport.Shutdown())
	}
	return g, nil
}

// silent returns a gossip that neither listens nor answers.
func silent(cfg Config) *Gossip {
	return &Gossip{
		cfg: cfg, own: cfg.Grid, alive: map[roster.Incarnation]Peer{}, said: map[roster.Incarnation]string{},
		names: map[roster.Incarnation]string{}, foreign: map[foreignMember]*encounter{},
		failing: map[roster.Incarnation]struct{}{}, noUDP: map[roster.Incarnation]unansweredUDP{}, news: signal.New(),
		subscribes: make(chan struct{}, subscribesMax), turn: make(chan struct{}, 1),
	}
}

// Addr returns where others reach this gossip.
func (g *Gossip) Addr() string { return g.transport.Addr() }

// Close ends the gossip. It waits for a goodbye in progress, goodbyeTimeout at most.
func (g *Gossip) Close() error {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	g.closed.Store(true)
	return g.list.Shutdown()
}

func (g *Gossip) config() *memberlist.Config {
	conf := memberlist.DefaultLANConfig()
	conf.Name = string(g.cfg.Self)
	conf.Transport = g.transport
	conf.Label = g.cfg.Name
	conf.BindPort, conf.AdvertisePort = 0, 0
	g.cfg.Pace.apply(conf)
	conf.TCPTimeout = gossipTimeout
	conf.EnableCompression = false
	conf.Delegate, conf.Events, conf.Alive, conf.Merge, conf.Ping = g, g, g, g, g
	conf.Keyring = g.keys.Memberlist()
	conf.Logger = log.New(probeLog{g.cfg.Library.Writer("gossip"), g.noteUnanswered, g.noteUnsent, g.noteTCPOnly,
		g.news.Send}, "", 0)
	return conf
}

// Announce sends this member's description of itself, which has changed, to all members, and returns at
// ctx's deadline. After the goodbye it sends nothing: memberlist forgets a member that left, also this one, and panics.
func (g *Gossip) Announce(ctx context.Context) {
	if !g.takeTurn(ctx) {
		return
	}
	defer func() { <-g.turn }()
	if g.hasLeft() {
		return
	}
	g.news.Send()
	if err := g.list.UpdateNode(untilEnd(ctx, gossipTimeout)); err != nil {
		g.cfg.Log.Debug("announcement not sent yet", "error", err)
	}
}

// Seen returns a phrase that lists the other members that gossip sees, and the addresses without an answer.
func (g *Gossip) Seen() string {
	var others []string
	for _, p := range g.Peers() {
		if p.Incarnation != g.cfg.Self {
			others = append(others, strings.TrimSpace(p.Name+" "+p.Gossip))
		}
	}
	if len(others) == 0 {
		return "no other member was seen" + g.search.text()
	}
	return "members seen: " + strings.Join(others, ", ") + g.search.text()
}

// Leave announces this member's departure, so that the others need not detect it. If others stay, it
// returns after they have relayed the message, or when ctx ends: a member without the message would
// suspect this one once it stops answering.
func (g *Gossip) Leave(ctx context.Context, othersStay bool) {
	spreading, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.spread(spreading) })
	defer func() {
		end()
		running.Wait()
	}()
	g.news.Send()
	limit := goodbyeTimeout
	if !othersStay { // the others may have left by now, so that none receives it
		limit = spreadDelay + spreadRounds*spreadAgain
	}
	if g.sayLeft(ctx, limit) && othersStay {
		signal.Sleep(ctx, goodbyePassedOn)
	}
}

// takeTurn reports whether a message of this member may be sent before ctx ends: one is sent at a time.
func (g *Gossip) takeTurn(ctx context.Context) bool {
	select {
	case g.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// untilEnd returns the time that memberlist may take: limit, and at most until ctx's deadline.
// It takes 0 for no limit.
func untilEnd(ctx context.Context, limit time.Duration) time.Duration {
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(end))
	}
	return max(limit, 1)
}

func (g *Gossip) sayLeft(ctx context.Context, limit time.Duration) bool {
	if !g.takeTurn(ctx) {
		return false
	}
	defer func() { <-g.turn }()
	if g.closed.Load() || g.left.Swap(true) {
		return false
	}
	if err := g.list.Leave(untilEnd(ctx, limit)); err != nil {
		g.cfg.Log.Debug("goodbye not sent", "error", err)
		return false
	}
	return true
}

func (g *Gossip) hasLeft() bool {
	return g.left.Load() || g.closed.Load()
}

const goodbyePassedOn = 2 * spreadAgain

// NodeMeta implements memberlist.Delegate: this member's description of itself.
func (g *Gossip) NodeMeta(limit int) []byte {
	about := g.cfg.About()
	data, err := wire.Encode(wire.MsgPack, about)
	for _, without := range [...]func(*Peer){ // long addresses: others get along without these
		func(p *Peer) { p.Release.Build = "" },
		func(p *Peer) { p.Name = "" },
		func(p *Peer) { p.Release = roster.Release{} },
	} {
		if err == nil && len(data) > limit {
			without(&about)
			data, err = wire.Encode(wire.MsgPack, about)
		}
	}
	if err != nil || len(data) > limit {
		g.cfg.Log.Error("this member's addresses do not fit gossip", "bytes", len(data), "limit", limit, "error", err)
		return nil
	}
	return data
}

// unused is the part of memberlist's interfaces that gossip does not use.
type unused struct{}

// NotifyMsg implements memberlist.Delegate; no messages are used.
func (unused) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate; no messages are used.
func (unused) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate; no state is exchanged.
func (unused) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate; no state is exchanged.
func (unused) MergeRemoteState([]byte, bool) {}

// AckPayload implements memberlist.PingDelegate; answers carry nothing more.
func (unused) AckPayload() []byte { return nil }

// NotifyJoin implements memberlist.EventDelegate.
func (g *Gossip) NotifyJoin(n *memberlist.Node) { g.note(n) }

// NotifyUpdate implements memberlist.EventDelegate.
func (g *Gossip) NotifyUpdate(n *memberlist.Node) { g.note(n) }

// NotifyLeave implements memberlist.EventDelegate.
func (g *Gossip) NotifyLeave(n *memberlist.Node) {
	g.mu.Lock()
	g.setGone(roster.Incarnation(n.Name))
	g.mu.Unlock()
	g.news.Send()
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
		g.setAlive(p, string(n.Meta))
		g.remember(p)
		maps.DeleteFunc(g.foreign, func(s foreignMember, _ *encounter) bool { return s.Addr == p.Gossip })
	}
	g.mu.Unlock()
	g.news.Send()
	g.cfg.State.Notify()
}

func readPeer(n *memberlist.Node) (Peer, error) {
	p := Peer{}
	inc := roster.Incarnation(n.Name)
	if err := errors.Join(inc.Check(), wire.DecodeTolerant(wire.MsgPack, n.Meta, &p)); err != nil {
		return p, err
	}
	if err := p.Release.Check(); err != nil {
		return p, err
	}
	p.Incarnation = inc
	if CheckName(p.Name) != nil {
		p.Name = ""
	}
	p.Gossip = net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
	p.noted = time.Now()
	return p, nil
}

// reread returns a node's stated state, and decodes it only if it has changed: memberlist asks for
// every node in each exchange. The caller holds g.mu.
func (g *Gossip) reread(n *memberlist.Node) (Peer, error) {
	if known, alive := g.alive[roster.Incarnation(n.Name)]; alive && g.said[known.Incarnation] == string(n.Meta) {
		return known, nil
	}
	return readPeer(n)
}
