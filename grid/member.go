// Package grid is a member of the grid: a process that keeps a part of the
// sequencers' logical-node tables and generates IDs itself. Most services embed
// one:
//
//	member, err := grid.Start(ctx, grid.Config{Join: []string{"ids:7946"}, Expect: 3, DataDir: "/var/lib/ids"})
//	orders, err := member.CreateSequencer(ctx, "orders", sequencer.Config{})
//	id, err := orders.Next(ctx)
//
// Members find each other by gossip. They agree by Raft on the roster: the members,
// the owner of each partition of the names, and the ceiling below which grants may
// be made. Everything that decides is in the packages roster, leader, partition,
// backup and sequencer; this one has the goroutines, sockets and clocks.
//
// A member that other machines reach needs certificates and a gossip key, in Config.Security.
// Each caller then has a role; see package security and docs/security.md.
package grid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/identity"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Member is a running member. All methods may be called from any number of
// goroutines. [Start] returns one; the methods of the zero value panic.
type Member struct {
	deps

	quiet   bool            // no logger was given
	library *librarylog.Log // log output of Raft, gossip and the HTTP server
	holds   *handles.Clock  // clock of the member's own handles, also sampled by replies

	stores      raftlog.Stores     // of the Raft log
	definitions *definitions.Store // nil without a data directory
	listeners   *listeners
	gate        *transport.Gate // members'; nil without Debug
	members     Network         // by which gossip and Raft reach other members
	http        *calls.Pool
	api         *api.Server
	events      *api.Events
	ids         *api.IDs // serves POST /v1/ids

	leadership *leadership
	monitor    *leaderMonitor
	health     *health
	departure  *departure
	dismissal  *dismissal
	overview   *overview
	membership *membershipAPI
	keyring    *keyring

	identity numbering
	handles  *client.Client // the user's handles

	end *ending
}

// Addrs are a member's addresses as others reach it, host:port.
type Addrs struct {
	Gossip string `json:"gossip"`
	Raft   string `json:"raft"`
	API    string `json:"api"`
}

// Start starts a member and returns when every partition has an owner, so that sequencers can be
// created. When ctx ends first it stops everything that it started; the error then names the
// members that it found. With Config.Identity it returns when the member is registered, too.
//
// Errors: sequencer.ErrInvalidConfig for a wrong setting, a setting that differs from the grid's,
// or a port in use (the message names it); [ErrClock] for a wrong wall clock; and, when
// ctx ended, an error that matches ctx.Err() and sequencer.ErrUnavailable.
func Start(ctx context.Context, cfg Config) (*Member, error) {
	m := newMember(cfg)
	if err := m.cfg.check(); err != nil {
		return nil, err
	}
	if err := clustertime.CheckClock(clustertime.TickOf(m.cfg.Clock.Now())); err != nil {
		return nil, fmt.Errorf("grid: %w; in a test with another time, set Config.Clock, or use package gridtest", err)
	}
	var err error
	if m.creds, err = credentialsOf(&m.cfg); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: start: the context had ended before the call: %w", err)
	}
	m.warn()
	if err := openWithin(ctx, m); err != nil {
		return nil, err
	}
	m.run()
	err = m.awaitServing(ctx)
	if err == nil {
		err = m.identity.await(ctx)
	}
	if err == nil {
		m.handles, err = m.newClient(ctx, &m.identity.Process)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.membership.started.Store(true)
	return m, nil
}

// clusterClock returns a clock of a member, an exact one for a test.
func clusterClock(cfg Config) *handles.Clock {
	if cfg.Network != nil || cfg.Clock != nil {
		return handles.NewExactClock()
	}
	return handles.NewClock()
}

func newMember(cfg Config) *Member {
	m := &Member{
		deps:   deps{lone: cfg.lone(), clock: clusterClock(cfg), creds: &credentials{}},
		quiet:  cfg.Logger == nil,
		holds:  clusterClock(cfg),
		events: api.NewEvents(),
	}
	m.cfg = cfg.withDefaults()
	if m.lone && cfg.Window == 0 {
		m.cfg.Window = roster.LoneWindow.Duration()
	}
	m.log = m.cfg.Logger
	m.library = librarylog.New(m.log, m.clock.Mono)
	m.files = &descriptors{mono: m.clock.Mono, library: m.library}
	m.cfg.Network = watchedNetwork{m.cfg.Network, transport.ResolverOf(m.cfg.Network), m.files.note}
	m.anchorage = &anchorage{store: m.cfg.Anchor, ahead: m.cfg.AnchorAhead}
	m.state = state.New(m.clock, m.holds)
	m.life = tenure.NewLife()
	m.end = newEnding()
	if cfg.Debug {
		m.gate = &transport.Gate{}
	}
	m.members = transport.Behind(m.cfg.Network, m.gate)
	m.ctx = m.life.Context()
	m.ids = api.NewIDs(func(ctx context.Context) (*client.Client, error) {
		return m.newClient(ctx, &identity.Process{Number: m.identity.Number})
	},
		func(ctx context.Context, in wire.CreateRequest) error { return m.host.CreateFor(ctx, in) }, m.life, m.clock.Mono)
	return m
}

// open makes everything that needs no other member; after an error, Close frees the parts that
// exist.
func (m *Member) open() error {
	var err error
	var id *formation.Identity
	if err := m.identity.read(m.cfg.Identity, m.cfg.DataDir); err != nil {
		return err
	}
	if m.stores, m.definitions, id, err = formation.OpenDataDir(m.cfg.DataDir, m.library.Writer("raft")); err != nil {
		return err
	}
	if err := m.compareSettings(); err != nil {
		return err
	}
	m.anchorage.key = AnchorKey(m.cfg.Name) // the name may be from the data directory
	if m.anchorage.configured() {
		if err := m.anchorage.check(m.ctx); err != nil {
			return err
		}
	}
	m.self = formation.NewIncarnation(id.Member)
	m.log = m.log.With("member", string(m.self), "member_name", m.cfg.MemberName)
	m.audit = audit.New(m.log, m.clock.Mono)
	m.raft, m.creds.log = m.newServer(), m.log
	m.http = calls.NewPool(dialAPI(m.cfg.Network), m.creds.Credentials)
	m.caller = api.Caller{HTTP: m.http, Hold: m.gate.Wait, Open: m.gate.Open, Refusals: &m.creds.refusals,
		Grid: func() roster.GridID { return m.formation.Grid() }, Library: m.library,
		Claim: func() roster.Claim { return m.state.Roster().Claim }}
	d := &m.deps
	m.dismissal = &dismissal{state: d.state, log: d.log, done: make(chan struct{})}
	m.monitor = &leaderMonitor{deps: d, ownView: m.serveHello, signs: signal.New(), doubts: signal.New()}
	m.leadership = &leadership{deps: d, ownView: m.serveHello, monitor: m.monitor, now: signal.New(), sooner: signal.New(),
		dismissal: m.dismissal, shares: newNumberShares()}
	m.http.Broken = m.leadership.disconnected
	m.health = &health{deps: d, view: m.leadership.view, apart: m.leadership.apart,
		notRegistered: m.identity.notRegistered}
	m.formation = m.newFormation(id)
	m.host = newHost(m)
	m.departure = &departure{deps: d, turn: make(chan struct{}, 1)}
	m.overview = &overview{deps: d, health: m.health, identity: &m.identity, statuses: newStatusCache()}
	m.membership = &membershipAPI{deps: d, gate: m.gate, leave: m.Leave, close: m.Close}
	m.keyring = newKeyring(d)
	m.api = m.newAPI()
	if m.lone {
		m.addrs = Addrs{API: "lone:0"}
		return m.formation.FormAlone()
	}
	if m.listeners, err = listen(m.cfg, m.members); err != nil {
		return err
	}
	if m.addrs, err = m.listeners.addrs(m.ctx, m.cfg); err != nil {
		return err
	}
	if m.gossip, err = gossip.Start(m.ctx, m.gossipConfig()); err != nil {
		return err
	}
	m.addrs.Gossip = m.gossip.Addr()
	m.formation.UseGossip(m.gossip)
	if err := m.identity.open(m); err != nil {
		return err
	}
	m.life.Go(func() { m.api.Serve(m.listeners.api) })
	return m.formation.Reopen()
}

// newFormation returns this member's way, with its identity, into its grid.
func (m *Member) newFormation(id *formation.Identity) *formation.Formation {
	return formation.New(formation.Config{
		Identity: id, Self: m.self, MemberName: m.cfg.MemberName, Lone: m.lone, DataDir: m.cfg.DataDir,
		Settings: m.cfg.settings(), Stated: m.cfg.stated(), Expect: m.cfg.Expect, Join: m.cfg.seeds(),
		FirstLife: m.cfg.FirstLife, Anchored: m.anchorage.configured(), Floor: m.cfg.Floor, Clock: m.cfg.Clock,
		State: m.state, Life: m.life, Log: m.log, Audit: m.audit, Raft: m.raft, Caller: m.caller, Record: m.record,
		Lead: m.leadership.run,
		Voters: func() (alive, count int) {
			q := m.health.quorum()
			return len(q.Alive), q.Voters()
		},
		Warning: m.health.warning,
		Reset: func() {
			m.health.wasReady.Store(false)
			m.health.wasSettled.Store(false)
			m.host.Reset()
		},
	})
}

func newHost(m *Member) *host.Host {
	return host.New(host.Config{
		Self: m.self, Grid: m.formation.Grid, State: m.state, Life: m.life, Log: m.log, Audit: m.audit, Raft: m.raft,
		Caller: m.caller, Events: m.events, Definitions: m.definitions, ReportEarlier: m.leadership.reportEarlier,
		ReportHeld: m.leadership.reportTo, Awaited: m.leadership.awaited, Changed: m.health.noteReady, Alone: m.lone,
		Stretch: func() float64 { return m.api.Stretch() },
	})
}

// calls returns every API call except the event stream.
func (m *Member) calls() []*api.Call {
	return append(slices.Concat(m.host.Calls(), m.formation.Calls(), m.leadership.calls(), m.overview.listingCalls(),
		m.keyring.calls()),
		api.Typed(wire.PathDismiss, m.dismissal.serve).ForMembers(),
		api.Typed(wire.PathStatus, m.overview.serve).WithLargeAnswer(),
		m.ids.Call(),
		api.Typed(wire.PathHello, unlessMuted(m.raft, m.serveHello)).ForTarget().OfAnyStart(),
	)
}

func (m *Member) newAPI() *api.Server {
	return api.New(api.Config{
		Self: m.self, Grid: m.formation.Grid, State: m.state, Life: m.life, Security: m.creds.Credentials,
		Tokens: m.creds.tokens(), Loopback: wire.IsLoopback(m.cfg.APIAddr), IdleFor: m.cfg.APIIdleTimeout, Log: m.log,
		Library: m.library, Audit: m.audit, NotAccepted: m.files.failed("api"),
		Status:      func(ctx context.Context) (any, error) { return m.overview.serve(ctx, wire.StatusRequest{}) },
		EmptyStatus: Status{}, NotReady: m.health.notReady, NotSettled: m.health.notSettled, Conditions: m.health.conditions,
		Paths: membership.Paths(m.membership, m.cfg.Debug), Hold: m.gate.Wait, Open: m.gate.Open, Charge: m.host.Charge,
		Trace: m.cfg.Trace,
	}, m.events, m.calls())
}

func (m *Member) gossipConfig() gossip.Config {
	return gossip.Config{
		Self: m.self, Grid: m.formation.Grid(), Name: m.cfg.Name, Network: m.members, Bind: m.cfg.GossipAddr,
		AdvertiseHost: m.cfg.AdvertiseHost, Join: m.cfg.Join, JoinPort: GossipPort, Discover: m.cfg.Discover,
		Keys: m.creds.gossipKeys(), DataDir: m.cfg.DataDir,
		Pace: gossip.Pace(m.cfg.Gossip), State: m.state, Log: m.log, Library: m.library, About: m.about,
		Unanswered: m.leadership.unanswered, NotAccepted: m.files.failed("gossip"),
	}
}

// about returns this member's description of itself for gossip.
func (m *Member) about() gossip.Peer {
	grid, left := m.formation.Whereabouts()
	return gossip.Peer{Raft: m.addrs.Raft, API: m.addrs.API, Durable: m.durable(), Grid: grid, Left: left,
		Leaving: m.state.Leaving(), FormsNone: m.formation.Expect() == 0, Name: m.cfg.MemberName, Release: wire.OwnRelease()}
}

// run starts the goroutines that take part in the grid.
func (m *Member) run() {
	m.life.Background(m.leadership.run)
	m.host.Run(m.lone)
	m.life.Go(func() { m.departure.watchPart(m.ctx) })
	m.life.Go(func() { m.raft.DropUnread(m.ctx) })
	if m.lone {
		return
	}
	m.life.Go(func() { m.creds.watch(m.ctx) })
	m.life.Go(func() { m.creds.warnOfExpiry(m.ctx) })
	m.life.Go(func() { m.monitor.run(m.ctx) })
	m.life.Go(func() { m.dismissal.run(m.ctx, m.departure.sayGoodbye) })
	m.life.Go(func() { m.gossip.Rejoin(m.ctx) })
	m.life.Go(func() { m.keyring.follow(m.ctx) })
	m.life.Go(func() { m.formation.Run(m.ctx) })
	if m.identity.Number != nil {
		m.life.Go(func() { m.identity.Number.Run(m.ctx) }) // registers it when the grid is ready, and renews that
	}
	m.life.Go(func() { m.health.advise(m.ctx) })
	if m.anchorage.configured() && !m.durable() {
		m.life.Go(func() { m.reform(m.ctx) })
	}
}

// Addrs returns where others reach the member. A lone member has no address.
func (m *Member) Addrs() Addrs {
	if m.lone {
		return Addrs{}
	}
	return m.addrs
}

// newClient returns a client that speaks to this member by function calls.
func (m *Member) newClient(ctx context.Context, process *identity.Process) (*client.Client, error) {
	return client.Dial(ctx, calls.With(client.Config{
		Addrs:  []string{m.addrs.API},
		Logger: m.log,
		Labels: map[string]string{"member": m.cfg.MemberName},
		Trace:  m.cfg.Trace,
	}, calls.Parts{
		Transport: m.api.Local(m.addrs.API, m.http),
		Clock:     m.holds,
		Process:   process,
	}))
}
