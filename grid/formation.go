// Package formation brings a member into a grid and out of it. It owns the member's
// identity (identity.go) and data directory (datadir.go), the attempt to form a grid
// (form.go, bootstrap.go), the recovery of one (init.go, abandon.go, recover.go), and the
// change from one tenure to the next (stay.go).
package grid

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// FormationConfig says how a member forms and joins grids.
type FormationConfig struct {
	Identity  *identity
	Self      roster.Incarnation
	Lone      bool // no other member can join it
	DataDir   string
	Settings  roster.Settings // of a grid that this member forms
	Stated    roster.Settings // those that the configuration states
	Expect    int             // how many members form the grid; 0: this one forms none
	Join      []string
	FirstLife bool
	Floor     time.Time
	Clock     wallClock
	State     *state.State
	Life      *tenure.Life
	Log       *slog.Logger
	Raft      *raftlog.Server
	Caller    api.Caller
	// Record returns the roster's record of this member.
	Record func() roster.Member
	// Voters counts Raft's voters, and those that gossip sees.
	Voters func() (alive, count int)
	// Warning returns the quorum warning, "" for none.
	Warning func() string
	// Reset forgets the grid that was left, when nothing acts for it any longer.
	Reset func()
	// Lead runs the leader's part; it is begun in each tenure.
	Lead func(context.Context)
}

// wallClock is where the wall clock is read.
type wallClock interface{ Now() time.Time }

// Formation is a member's way into its grid. Its methods may be called from any goroutine.
type Formation struct {
	cfg    FormationConfig
	self   roster.Incarnation
	state  *state.State
	clock  *client.Clock // of the state, sampled by the log alone
	life   *tenure.Life
	ctx    context.Context // ends with the life
	log    *slog.Logger
	raft   *raftlog.Server
	caller api.Caller
	gossip *gossip.Gossip // nil in a lone member; set before anything runs

	idMu sync.Mutex // guards what follows; held while id is written to disk
	id   *identity
	next founding // the only grid that this member leaves its grid for, or may join having left it
	past past     // of the grid that it left, if it did

	boot   bootstrap     // this member's own attempt to form a grid
	unseen lapse         // of the founder that it has accepted; the turn guards it
	clash  clash         // why the leader does not let it in
	turn   chan struct{} // held by an operation that brings the member into a grid, or out of it

	mu       sync.Mutex    // guards what follows; never held while waiting
	trial    roster.GridID // the grid this member tries to form
	expected int           // how many members form the next grid
}

// NewFormation returns the formation of a member that is in the grid of its identity.
func NewFormation(cfg FormationConfig) *Formation {
	return &Formation{
		cfg: cfg, self: cfg.Self, state: cfg.State, clock: cfg.State.Clock, life: cfg.Life, ctx: cfg.Life.Context(), log: cfg.Log,
		raft: cfg.Raft, caller: cfg.Caller, id: cfg.Identity, turn: make(chan struct{}, 1), expected: cfg.Expect,
	}
}

// UseGossip sets the view of other members, before anything runs.
func (f *Formation) UseGossip(g *gossip.Gossip) { f.gossip = g }

// Calls returns the calls by which grids form.
func (f *Formation) Calls() []*api.Call {
	return []*api.Call{
		api.Typed(wire.PathAccept, f.serveAccept).ForTarget(),
		api.Typed(wire.PathInit, f.serveInit).ForTarget(),
		api.Typed(wire.PathAbandon, f.serveAbandon).ForTarget(),
	}
}
