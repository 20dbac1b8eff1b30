package sim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

// grid is one grid with its holders, and the state for the checks.
type grid struct {
	w       *world
	cfg     Config
	agreed  *agreement
	anchor  *anchorStore // nil in a grid without an anchor
	seats   []*seat
	members map[roster.Incarnation]*member // all members that have ever run
	holders []*holder

	generators []*generator

	names []sequencer.Definition

	nemesis  nemesis
	operator operator
	promises promises

	expect int                     // number of initial members
	lives  []gridLife              // earlier grids and the current one
	madeIn map[attachment.Life]int // index in lives, by a name's life

	holderOf    map[attachment.HolderID]*holder
	holderCount int
	skew        map[int]clustertime.Span // wall clock offsets, by place
	alarms      map[roster.Incarnation]alarm
	lingering   []*member                   // members that have ended, and that gossip may still report
	lastFreed   map[string]sequencer.NodeID // by name
	// lastAttached is the newest attachment for each name. Its holder may have ended.
	lastAttached map[string]attachment.Attachment
	stopping     bool          // the last member is shutting down in order
	calm         bool          // faults have ended
	stepped      time.Duration // time of the first wall clock step

	began   map[roster.PartitionID]backup.Position // the owner's position when a replica began to join
	lost    map[roster.PartitionID]roster.Version  // version at a partition's last loss
	current map[roster.MemberID]*seat              // the seat that now has the identity of a copied directory

	buffer []sequencer.ID

	ledger *ledger.Ledger
	counts Counts
	failed error
}

// Counts counts the events in a run.
type Counts struct {
	IDs, Grants   int64 // checked
	Takes, Losses int   // changes of owner, and partitions that restarted
	Joins, Admits int   // replicas that began to join, and that came into sync
	Stops         int   // orderly stops after which the grid continued
	Elections     int
	Protocols     int   // changes to the roster's protocol
	Expired       int   // attachments
	Destroyed     int   // names' lives
	Writes        int   // writes of definitions to disks
	Collected     int   // collections of definitions from a disk
	Candidacies   int   // candidacies, in addition to Raft's
	Stood         int   // candidacies that ended in an election
	Copies        int   // processes from copied directories that were refused
	Forgotten     int   // disks given up by operators during faults
	Recovered     int   // grids recovered from directories
	Initialized   int   // grids formed by surviving members
	Generated     int64 // IDs made by generators
	Replaced      int   // logical nodes of generators that were replaced
	Faults        [faultCount]int
}

const (
	memberLimit  = 7
	holderPlaces = 1000
	firstWall    = clustertime.Tick(1_800_000_000_000)
	electEvery   = 100 * time.Millisecond
)

// Result is the outcome of a run.
type Result struct {
	Counts
	Length time.Duration // virtual time
	Hash   uint64        // hash of the trace: equal runs have equal hashes
	Err    error
}

// Run simulates a grid, and writes the trace to out unless it is nil.
func Run(cfg Config, out io.Writer) Result {
	g := newGrid(cfg)
	if out != nil {
		legend(out)
		_, _ = fmt.Fprintf(out, "# %+v\n", cfg)
		g.w.trace.out = out
	}
	g.play()
	g.counts.IDs, g.counts.Grants = g.ledger.IDs(), g.ledger.Grants()
	g.counts.Elections = g.agreed.terms
	return Result{Counts: g.counts, Length: g.w.now, Hash: g.w.trace.hash, Err: g.failed}
}

func newGrid(cfg Config) *grid {
	g := &grid{
		w: newWorld(cfg.Seed), cfg: cfg, members: map[roster.Incarnation]*member{}, expect: cfg.Members,
		madeIn: map[attachment.Life]int{}, holderOf: map[attachment.HolderID]*holder{}, skew: map[int]clustertime.Span{},
		alarms: map[roster.Incarnation]alarm{}, lastFreed: map[string]sequencer.NodeID{},
		lastAttached: map[string]attachment.Attachment{}, began: map[roster.PartitionID]backup.Position{},
		lost: map[roster.PartitionID]roster.Version{}, current: map[roster.MemberID]*seat{}, ledger: ledger.New(),
		buffer: make([]sequencer.ID, 70_000),
	}
	g.nemesis, g.operator, g.promises = nemesis{g}, operator{g: g}, newPromises(g)
	if cfg.Anchored {
		g.anchor = newAnchorStore()
	}
	n := &g.w.net
	n.loss, n.twice, n.slow, n.late = cfg.Loss, cfg.Twice, cfg.Slow, cfg.Late
	for i := range cfg.Names {
		origin := epoch.Default
		if i == 0 && cfg.Ends {
			origin = epoch.UnixMilli(int64(firstWall) + cfg.Length.Milliseconds()*2/3 - 1<<40)
		}
		def, err := sequencer.Define(fmt.Sprintf("name %d", i), sequencer.Config{Epoch: origin, Nodes: 128})
		if err != nil {
			panic(err)
		}
		g.names = append(g.names, def)
	}
	g.form()
	for range cfg.Holders {
		g.addHolder()
	}
	for range cfg.Generators {
		g.addGenerator()
	}
	g.elections()
	g.nemesis.nextFault()
	if g.cfg.Old {
		g.nextNeed()
	}
	return g
}

// form creates the first roster and starts the first members.
func (g *grid) form() {
	formed, err := new(roster.Roster).Apply(roster.Command{Form: &roster.Form{
		Grid: roster.GridID(g.w.bits()), Ceiling: firstWall, Anchored: g.cfg.Anchored,
		Settings: roster.Settings{Name: "sim", Partitions: g.cfg.Partitions, Backups: g.cfg.Backups, Window: g.cfg.Window,
			Voters: g.cfg.Voters},
	}})
	if err != nil {
		panic(err)
	}
	g.agreed = &agreement{g: g, log: []logged{{roster: formed}}}
	g.lives = []gridLife{{grid: formed.Grid}}
	for i := range g.cfg.Members {
		m := g.start(g.addSeat(i < g.cfg.Durable))
		m.learn(0)
		if i == 0 { // the bootstrap member; the leader adds the others
			g.agreed.servers = []server{serverOf(m, true)}
		}
	}
}

func (g *grid) addSeat(durable bool) *seat {
	place := len(g.seats)
	s := &seat{
		place: place, id: roster.MemberID(fmt.Sprintf("%016x", g.w.rng.Uint64())), durable: durable, index: -1,
		disk: map[roster.PartitionID]definitions{}, at: map[roster.PartitionID]backup.Position{},
	}
	if g.cfg.Zones > 0 {
		s.zone = fmt.Sprintf("z%d", g.w.rng.IntN(g.cfg.Zones))
	}
	s.old = g.cfg.Old && len(g.seats) < g.cfg.Members && g.w.chance(0.5)
	g.seats = append(g.seats, s)
	return s
}

func (g *grid) addHolder() {
	var within *member
	if g.w.chance(0.3) {
		within = g.someMember()
	}
	g.newHolder(within)
}

func (g *grid) elections() {
	if g.cfg.Baseline == Quorum {
		g.countMembers()
	} else {
		g.agreed.elect()
	}
	if m := g.agreed.leader; m != nil && m.lead != nil {
		m.lead.look()
	}
	g.restartStragglers()
	g.operator.restartForeign()
	g.w.after(electEvery, g.elections)
}

// running returns the running members, ordered by seat.
func (g *grid) running() []*member {
	var out []*member
	for _, s := range g.seats {
		if s.running != nil {
			out = append(out, s.running)
		}
	}
	return out
}

func (g *grid) someMember() *member {
	if all := g.running(); len(all) > 0 {
		return pick(g.w, all)
	}
	return nil
}

// wallAt returns the wall clock time at a place.
func (g *grid) wallAt(place int) clustertime.Tick {
	return firstWall.Add(clustertime.SpanOf(g.w.now) + g.skew[place])
}

// id returns the current grid's ID.
func (g *grid) id() roster.GridID { return g.agreed.newest().Grid }

// gossipTime is the longest time until gossip detects that a member has ended.
const gossipTime = 2500 * time.Millisecond

// peers returns the members that gossip reports alive, sorted. Some have ended.
func (g *grid) peers(at *member) []leader.Peer {
	var out []leader.Peer
	add := func(m *member) {
		if g.alarms[m.inc] == alarmNone && m.of() == at.of() {
			out = append(out, leader.Peer{Incarnation: m.inc, Durable: m.seat.durable, Leaving: m.leaving})
		}
	}
	for _, m := range g.running() {
		if g.gossips(at, m) {
			add(m)
		}
	}
	g.lingering = slices.DeleteFunc(g.lingering, func(m *member) bool { return m.unseen <= g.w.now })
	for _, m := range g.lingering {
		add(m)
	}
	slices.SortFunc(out, func(a, b leader.Peer) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
	return out
}

// gossips reports whether gossip at one member sees another, directly or through a third member.
func (g *grid) gossips(at, p *member) bool {
	n := &g.w.net
	if p.until > g.w.now {
		return false
	}
	if n.both(at.place, p.place) {
		return true
	}
	for _, m := range g.running() {
		if m.until <= g.w.now && n.both(at.place, m.place) && n.both(m.place, p.place) {
			return true
		}
	}
	return false
}

// sawRoster counts the effects of a roster change.
func (g *grid) sawRoster(before, next *roster.Roster) {
	for id, p := range next.Partitions {
		was := before.Partitions[id]
		switch {
		case p.LostTerm > was.LostTerm:
			g.counts.Losses++
			g.lost[roster.PartitionID(id)] = next.Version
			g.w.note(lost, "", int64(id), int64(next.Version))
		case p.Term > was.Term:
			g.counts.Takes++
		case p.Joining != "" && was.Joining == "":
			g.counts.Joins++
			if o := g.members[p.Owner].actors[roster.PartitionID(id)]; o != nil {
				g.began[roster.PartitionID(id)] = o.machine.Position()
			}
		case len(p.InSync) > len(was.InSync):
			g.counts.Admits++
			g.check(g.checkAdmitted(roster.PartitionID(id), was.Joining))
		default:
			continue
		}
		g.nemesis.strike(was.Owner)
	}
	if before.Stopped > 0 && next.Stopped == 0 {
		g.counts.Stops++
	}
}

// freed makes users attach immediately to a node that has just been freed: a holder that still used
// it would conflict.
func (g *grid) freed(name string, node sequencer.NodeID) {
	g.counts.Expired++
	g.lastFreed[name] = node
	for _, h := range g.holders {
		for _, e := range h.entries {
			if e.def.Name() == name && g.w.chance(0.5) {
				e.idle = min(e.idle, g.w.now)
			}
		}
	}
}

// check records the first violation. For a baseline only equal IDs count, because they are
// indisputable.
func (g *grid) check(err error) {
	if err != nil && (g.cfg.Baseline == Real || errors.Is(err, ledger.ErrTwice)) {
		g.fail("%w", err)
	}
}

func (g *grid) fail(format string, args ...any) {
	if g.failed == nil {
		g.w.note(failed, "", 0, 0)
		g.failed = fmt.Errorf("after %v: "+format, append([]any{g.w.now}, args...)...)
	}
}
