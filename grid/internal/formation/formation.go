// Package formation brings a member into a grid and out of it. It owns the member's
// identity (identity.go) and data directory (datadir.go), the attempt to form a grid
// (form.go, acceptance.go, bootstrap.go), the recovery of one (init.go, abandon.go,
// recover.go), and the change from one tenure to the next (tenure.go).
package formation

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Config configures the way a member forms and joins grids.
type Config struct {
	Identity   *Identity
	Self       roster.Incarnation
	MemberName string // for messages
	Lone       bool   // no other member can join it
	DataDir    string
	Settings   roster.Settings // of a grid that this member forms
	Stated     roster.Settings // from the configuration
	Expect     int             // how many members form the grid; 0: this one forms none
	Join       []string
	FirstLife  bool
	Anchored   bool // the grid has an anchor
	Floor      time.Time
	Clock      Clock
	State      *state.State
	Life       *tenure.Life
	Log        *slog.Logger
	Audit      *audit.Log
	Raft       *raftlog.Server
	Caller     api.Caller
	// Record returns the roster's record of this member.
	Record func() roster.Member
	// Voters counts Raft's voters, and the voters alive in gossip.
	Voters func() (alive, count int)
	// Warning returns the quorum warning, "" for none.
	Warning func() string
	// Reset forgets the grid that was left, when nothing acts for it any longer.
	Reset func()
	// Lead runs the leader's part; it is begun in each tenure.
	Lead func(context.Context)
}

// Clock reads the wall clock.
type Clock interface{ Now() time.Time }

// deps are the parts of the member that all parts of a formation use.
type deps struct {
	cfg    Config
	self   roster.Incarnation
	state  *state.State
	clock  *handles.Clock // of the state, sampled by the log alone
	life   *tenure.Life
	ctx    context.Context // ends with the life
	log    *slog.Logger
	raft   *raftlog.Server
	caller api.Caller
	gossip *gossip.Gossip // nil in a lone member; set before anything runs
}

// bindings has the grid that a member is in, has left, or is bound to.
type bindings struct {
	*deps
	idMu     sync.Mutex // guards the fields below; held while id is written to disk
	id       *Identity
	next     Attempt         // the grid that this member leaves its grid for
	previous recovery.Left   // of the grid that it left, if it did
	left     []roster.GridID // all grids that it has left
}

// attempts has the grid that a member tries to form.
type attempts struct {
	mu        sync.Mutex    // guards the fields below; never held while waiting
	attempted roster.GridID // the grid this member tries to form
	expected  int           // how many members form the next grid
}

// polls asks other members to take part in a formation or a recovery.
type polls struct {
	*deps
	member roster.MemberID // this one
}

// Formation is a member's way into its grid. Its methods may be called from any goroutine.
type Formation struct {
	*deps
	*bindings
	*attempts
	*polls

	boot         bootstrap // this member's own attempt to form a grid
	attemptLapse lapse     // of the bootstrap member that it has accepted; the turn guards it
	// successorLapse measures the absence in a successor without its roster; the turn guards it.
	successorLapse lapse
	clash          clash         // why the leader does not let it in
	behind         atomic.Bool   // its grid has gone on without it under another claim
	turn           chan struct{} // held by an operation that brings the member into a grid, or out of it
}

// New returns the formation of a member that is in the grid of its identity.
func New(cfg Config) *Formation {
	d := &deps{
		cfg: cfg, self: cfg.Self, state: cfg.State, clock: cfg.State.Clock, life: cfg.Life, ctx: cfg.Life.Context(),
		log: cfg.Log, raft: cfg.Raft, caller: cfg.Caller,
	}
	return &Formation{
		deps: d, bindings: &bindings{deps: d, id: cfg.Identity}, attempts: &attempts{expected: cfg.Expect},
		polls: &polls{deps: d, member: cfg.Identity.Member}, turn: make(chan struct{}, 1),
	}
}

// UseGossip sets the view of other members, before anything runs.
func (f *Formation) UseGossip(g *gossip.Gossip) { f.gossip = g }

// Calls returns the calls by which grids form.
func (f *Formation) Calls() []*api.Call {
	return []*api.Call{
		api.Typed(wire.PathAccept, f.Accept).ForTarget(),
		api.Typed(wire.PathInit, f.serveInit).ForTarget(),
		api.Typed(wire.PathAbandon, f.Abandon).ForTarget(),
	}
}

// FormUnconfirmed forms a grid that needs acceptances which it does not get: for tests.
func (f *Formation) FormUnconfirmed(need int) error {
	if err := f.takeTurn(f.ctx); err != nil {
		return err
	}
	defer f.endTurn()
	return f.formAs(roster.Form{Grid: NewGridID(), Settings: f.cfg.Settings, Ceiling: 1}, acceptances{}, need)
}

// LeaveGrid leaves the grid while something runs on its behalf: for tests.
func (f *Formation) LeaveGrid(work func(ctx context.Context)) error {
	if err := f.takeTurn(f.ctx); err != nil {
		return err
	}
	defer f.endTurn()
	f.life.Background(work)
	return f.leaveGrid(1)
}
