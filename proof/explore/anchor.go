package explore

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// AnchorScope bounds an exploration of anchored grids: several grids with one name, started empty
// or from another grid's data, under one record in a store. There is no time: a leader may act at
// any moment on anything that was ever true, and a swap in transit may be applied at any later
// time, or never.
type AnchorScope struct {
	Name    string
	Grids   int  // 1 to 3; the first is running
	Leaders int  // per grid, 1 or 2: any of them may act as leader
	Ticks   int  // the highest limit that may be written
	Takes   int  // of the record, in total
	Copies  bool // a grid's data is copied, and a grid is started from the old copy
	Stops   bool // the last member stops in an orderly way
	Earlier bool // an earlier generation granted without an anchor, and the first grid has its data
	Keep    bool // states also differ by parts that no leader can use: for omitted rules
}

const (
	anchorGrids    = 3
	anchorLeaders  = 2
	anchorSegments = 6
	anchorTick     = clustertime.Tick(10_000) // tick 0
)

// anchorWorld is a state. Its parts are small numbers; each step builds the real rosters and
// authorities from them.
type anchorWorld struct {
	Exists  bool // the record
	Claim   uint8
	Ceiling uint8
	Claims  uint8 // drawn so far
	Begun   uint8 // segments
	Top     uint8 // the highest claim in the state, after renumbering
	Rights  [anchorSegments]uint8
	Copied  bool
	Copy    anchorRoster // of the old copy
	Grids   [anchorGrids]anchorGrid
}

// anchorRoster is a roster's content, with ticks relative to anchorTick.
type anchorRoster struct {
	Ceiling, Floor, Claim uint8
	Stop                  uint8 // + 1
	Owned                 bool
}

// anchorGrid is a group of processes with one log: everything in it was started for this grid. A
// segment is everything that the grid may grant between two losses of all partitions: every tick
// from the floor to the highest ceiling. Inside a segment the grid's own rules keep grants apart.
type anchorGrid struct {
	State   uint8 // anchorIdle and so on
	Segment uint8 // + 1
	Members uint8 // leaders in the roster, as bits
	Roster  anchorRoster
	Leaders [anchorLeaders]anchorLeader
}

const (
	anchorIdle = iota
	anchorRuns
	anchorStopped
)

// anchorLeader is a process that acts as leader.
type anchorLeader struct {
	Knows   bool  // it has the newest roster version
	Claim   uint8 // claim of the highest observed ceiling
	Ceiling uint8
	Taken   anchorTaken
	Stopper bool
	Swaps   [2]anchorSwap // the newest, and an abandoned one
}

type anchorTaken struct {
	Claim, Found, Ceiling uint8
	Known, Current        bool
}

type anchorSwap struct {
	State   uint8 // 0 none, anchorFlies, anchorLanded, anchorStale
	Kind    anchor.Kind
	Claim   uint8
	Ceiling uint8
}

const (
	anchorFlies  = iota + 1
	anchorLanded // and its reply is in transit
	anchorStale  // the record has changed since; it is applied only in a store without conditions
)

func anchorTime(tick uint8) clustertime.Tick { return anchorTick + clustertime.Tick(tick) }

func tickOf(t clustertime.Tick) uint8 { return uint8(max(t, anchorTick) - anchorTick) }

// anchorClaims are the claims by number.
var anchorClaims = func() (out [32]roster.Claim) {
	for i := 1; i < len(out); i++ {
		out[i] = roster.Claim(fmt.Sprintf("%032x", i))
	}
	return out
}()

func claimNumber(c roster.Claim) uint8 {
	for i, known := range anchorClaims {
		if known == c {
			return uint8(i)
		}
	}
	return 0
}

// anchorProcesses are the leaders' processes, by grid.
var anchorProcesses = func() (out [anchorGrids][anchorLeaders]roster.Incarnation) {
	for grid := range out {
		for leader := range out[grid] {
			out[grid][leader] = roster.Incarnation(fmt.Sprintf("%016x-%016x", leader+1, grid+1))
		}
	}
	return out
}()

func anchorProcess(grid, leader int) roster.Incarnation { return anchorProcesses[grid][leader] }

// anchorVersion is every roster's version before a step.
const anchorVersion = 8

// roster builds a grid's real roster.
func (g *anchorGrid) roster(grid int) *roster.Roster {
	p := roster.Partition{Floor: anchorTime(g.Roster.Floor)}
	r := &roster.Roster{
		Grid: roster.GridID{1}, Version: anchorVersion, Claim: anchorClaims[g.Roster.Claim], Anchored: g.Roster.Claim > 0,
		Ceiling:  anchorTime(g.Roster.Ceiling),
		Settings: roster.Settings{Name: "g", Partitions: 1, Window: roster.MinWindow},
	}
	if g.Roster.Stop > 0 {
		r.Stopped = anchorTime(g.Roster.Stop - 1)
	}
	for p := range anchorLeaders {
		if g.Members>>p&1 == 1 {
			r.Members = append(r.Members, roster.Member{Incarnation: anchorProcess(grid, p)})
		}
	}
	if g.Roster.Claim != 0 {
		p.Term, p.LostTerm = anchorVersion, anchorVersion
	}
	if g.Roster.Owned && len(r.Members) > 0 {
		p.Owner = r.Members[0].Incarnation
		p.InSync = []roster.Incarnation{p.Owner}
	}
	r.Partitions = []roster.Partition{p}
	return r
}

// follow stores the roster after a command. A loss starts a segment.
func (w *anchorWorld) follow(grid int, r *roster.Roster) {
	g := &w.Grids[grid]
	p := r.Partitions[0]
	if reset := p.LostTerm > anchorVersion && p.Owner == "" || g.Segment == 0 && r.Claim != ""; reset &&
		w.Begun < anchorSegments {
		w.Begun++
		g.Segment = w.Begun
	}
	g.Roster = anchorRoster{Ceiling: tickOf(r.Ceiling), Floor: tickOf(p.Floor), Claim: claimNumber(r.Claim),
		Owned: p.Owner != ""}
	if r.Stopped > 0 {
		g.Roster.Stop = tickOf(r.Stopped) + 1
	}
	g.Members = 0
	for p := range anchorLeaders {
		if _, in := r.Member(anchorProcess(grid, p)); in {
			g.Members |= 1 << p
		}
	}
	if r.Stopped == 0 {
		w.grant(grid, g.Roster.Floor, g.Roster.Ceiling)
	}
}

// grant records that a grid may grant the ticks from a floor to a ceiling.
func (w *anchorWorld) grant(grid int, from, to uint8) {
	if s := w.Grids[grid].Segment; s > 0 && to > from {
		w.Rights[s-1] |= uint8((uint16(1)<<to - 1) &^ (uint16(1)<<from - 1))
	}
}

// twice describes a tick that two segments may grant, "" if there is none.
func (w *anchorWorld) twice() string {
	var all uint8
	for _, r := range w.Rights {
		if both := all & r; both != 0 {
			return fmt.Sprintf("two lives may grant the same ticks (as bits: %08b)", both)
		}
		all |= r
	}
	return ""
}

// authority builds a leader's real authority.
func (l *anchorLeader) authority(self roster.Incarnation) anchor.Authority {
	a := anchor.Authority{Self: self, Claim: anchorClaims[l.Claim]}
	if l.Claim > 0 {
		a.Ceiling = anchorTime(l.Ceiling)
	}
	if t := l.Taken; t.Claim > 0 {
		a.Taken = anchor.Taken{Claim: anchorClaims[t.Claim], Version: anchorVersion, Found: anchorTime(t.Found),
			Ceiling: anchorTime(t.Ceiling), Known: t.Known}
		if !t.Current {
			a.Taken.Version--
		}
	}
	return a
}

// keep stores the authority after a step.
func (l *anchorLeader) keep(a anchor.Authority) {
	l.Claim, l.Ceiling = claimNumber(a.Claim), tickOf(a.Ceiling)
	t := a.Taken
	l.Taken = anchorTaken{
		Claim: claimNumber(t.Claim), Found: tickOf(t.Found), Ceiling: tickOf(t.Ceiling), Known: t.Known,
		Current: t.Claim != "" && t.Version == anchorVersion,
	}
}

// seen returns the record as the result of a read.
func (w *anchorWorld) seen() anchor.Seen {
	if !w.Exists {
		return anchor.Seen{}
	}
	return anchor.Seen{Revision: "now", Record: anchor.Record{Claim: anchorClaims[w.Claim],
		Ceiling: anchorTime(w.Ceiling)}}
}
