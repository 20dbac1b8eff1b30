package explore

import (
	"fmt"
	"math/bits"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/sequencer"
)

// GeneratorScope bounds an exploration of generators: processes that make IDs by the rules of
// docs/grants.md, an ordinary holder, and the owner of their sequencer.
type GeneratorScope struct {
	Name       string
	Nodes      int // logical nodes, 1 or 2
	Generators int // processes without a parent, 1 to 3
	Forks      int // copies of them; both together are at most 3
	Ticks      int // milliseconds that pass, at most 5
	Requests   int // by each process
	Duplicates int // requests and releases that arrive twice, together
	Holder     int // attachments of the ordinary holder
	Expiries   int // sessions that the owner ends
	Releases   int // grants that their generators release
	Elsewhere  int // grants that another process with the text releases
	Moves      int // takeovers
	Losses     int // of the owner's table
	Lives      int // of the sequencer, including the first one
	Ends       int // the layout's end; 0 is none
	Leap       bool
	Clocks     bool // each process's monotonic clock advances on its own
	Late       bool // a reply still arrives after its request has failed
	Wide       bool // takes seconds or minutes
}

const (
	maxGenerators = 3
	// generatorNodes is above the logical nodes 1 and 2.
	generatorNodes = 3
	// grantWindow is the distance of the ceiling from the present time, in milliseconds.
	grantWindow = 2
	// leap is the step of time in scopes with one, longer than a reply shows the time (G2). Bits
	// count leapTicks ticks before it, and from it on; it ends at the tick leapTo.
	leap, leapTicks, leapTo = 100_000, 16, 6
	// generatorBase is the tick that is printed as 0.
	generatorBase clustertime.Tick = 1_800_000_000_000
)

// generatorWorld is one state of the owner, the processes and all messages. The values it points to
// are immutable.
type generatorWorld struct {
	now       int64 // since generatorBase
	owner     ownerID
	processes [maxGenerators]generatorProcess
	holder    ordinaryHolder
	made      [generatorNodes]uint64 // IDs of each node: two counters for each tick
	secrets   uint8                  // of grants so far
	spent     generatorSpent
	broken    string // the first forbidden ID
}

// generatorSpent counts events that a scope bounds.
type generatorSpent struct{ duplicates, expiries, releases, elsewhere, forks, moves, losses uint8 }

// generatorProcess is a process with the machine of its rules, and its messages in transit.
type generatorProcess struct {
	machine *grants.Generator // nil before it begins
	at      int64             // its monotonic clock
	sentAt  int64
	sent    uint8
	flights []flight     // requests that may still arrive
	replies []ownerReply // to the request in progress, and with Late to earlier ones
	release []grantRelease

	// For the judge.
	granted  [generatorNodes]uint32 // ticks in replies that it received
	revoked  [generatorNodes]uint32 // ticks in grants that were released, as it received
	released uint16                 // the secrets of released grants, as bits
	last     int64                  // its last ID
	ended    ending
}

// flight is a request in transit.
type flight struct {
	grant   grantID
	current bool // its process waits for the reply
}

// grantRelease is a release in transit.
type grantRelease struct {
	grant grantID
	last  int64
}

// ending is an event after which a process makes no ID.
type ending uint8

const (
	endedNot ending = iota
	endedReleased
	endedDestroyed
)

// ordinaryHolder is a holder whose handle may use any tick in its grants.
type ordinaryHolder struct {
	attachments uint8
	attached    bool
	node        sequencer.NodeID
	from        int64
	rights      [generatorNodes]uint32 // ticks that it has used or may use
}

// Break is a kind of forbidden ID.
type Break string

// The kinds.
const (
	BreaksAny      Break = ""
	BreaksTwice    Break = "twice"    // equal IDs
	BreaksOrder    Break = "order"    // an ID below the process's last one
	BreaksGrant    Break = "grant"    // not in a grant of the process, or beyond the layout
	BreaksEnd      Break = "end"      // after a release or a destroy
	BreaksPresence Break = "presence" // its time is later than the grid's
)

// generatorLab explores a scope.
type generatorLab struct {
	scope  GeneratorScope
	weak   GeneratorWeakness
	only   Break
	owners *grantOwners
}

// SearchGenerators tries every step that a scope allows, with the rule weak omitted. It ends at the
// first forbidden ID, of one kind unless only is BreaksAny.
func SearchGenerators(s GeneratorScope, weak GeneratorWeakness, only Break, limits Limits) Result {
	return searchSpace(&generatorLab{scope: s, weak: weak, only: only, owners: newGrantOwners(s)}, limits)
}

func (l *generatorLab) start() generatorWorld { return generatorWorld{owner: l.owners.first()} }

// ticksBelow returns the ticks below t as bits.
func ticksBelow(t int64) uint32 {
	if t <= 0 {
		return 0
	}
	return uint32(1)<<(t/leap*leapTicks+min(t%leap, leapTicks)) - 1
}

// ticksOf returns the ticks of a grant as bits.
func ticksOf(from, until int64) uint32 { return ticksBelow(until) &^ ticksBelow(from) }

// forbid records a forbidden ID.
func (l *generatorLab) forbid(w *generatorWorld, kind Break, format string, args ...any) {
	if w.broken == "" && (l.only == BreaksAny || l.only == kind) {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// judge checks an ID that a process has just made, by the layout instead of the formula in the
// reply.
func (l *generatorLab) judge(w *generatorWorld, i int, id int64) {
	p, parts := &w.processes[i], l.owners.definition.Decompose(sequencer.ID(id))
	t, text := int64(clustertime.TickOf(parts.Time)-generatorBase), l.tellID(id)
	if id <= p.last {
		l.forbid(w, BreaksOrder, "P%d makes %s after %s", i+1, text, l.tellID(p.last))
	}
	if p.last = id; parts.Node < 1 || int(parts.Node) > l.scope.Nodes || t < 0 || t%leap >= leapTicks {
		l.forbid(w, BreaksGrant, "P%d makes %s, which nothing grants", i+1, text)
		return
	}
	tick := uint32(1) << (t/leap*leapTicks + t%leap)
	bit := uint64(1) << (2*bits.TrailingZeros32(tick) + int(parts.Counter))
	if w.made[parts.Node]&bit != 0 {
		l.forbid(w, BreaksTwice, "P%d makes %s, which was made before", i+1, text)
	}
	w.made[parts.Node] |= bit
	switch {
	case p.ended == endedReleased:
		l.forbid(w, BreaksEnd, "P%d makes %s after it released its grant", i+1, text)
	case p.ended == endedDestroyed:
		l.forbid(w, BreaksEnd, "P%d makes %s after it received the end of the sequencer", i+1, text)
	case p.granted[parts.Node]&tick == 0 && p.revoked[parts.Node]&tick != 0:
		l.forbid(w, BreaksEnd, "P%d makes %s after it received the release of that grant", i+1, text)
	case p.granted[parts.Node]&tick == 0:
		l.forbid(w, BreaksGrant, "P%d makes %s, which was not granted to it", i+1, text)
	case l.scope.Ends > 0 && t >= int64(l.scope.Ends):
		l.forbid(w, BreaksGrant, "P%d makes %s, and the layout ends at %d", i+1, text, l.scope.Ends)
	}
	if !l.scope.Clocks && t > w.now {
		l.forbid(w, BreaksPresence, "P%d makes %s at %d", i+1, text, w.now)
	}
}

// wrong also compares the processes' IDs with the ticks that the ordinary holder may use.
func (l *generatorLab) wrong(w *generatorWorld) string {
	if w.broken != "" || l.only != BreaksAny && l.only != BreaksTwice {
		return w.broken
	}
	for n, rights := range w.holder.rights {
		for rights := rights; rights != 0; rights &= rights - 1 {
			if at := bits.TrailingZeros32(rights); w.made[n]>>(2*at)&3 != 0 {
				return fmt.Sprintf("the holder may use node %d at %d, and another process does", n, tickAt(at))
			}
		}
	}
	return ""
}

// tickAt returns the tick of a bit.
func tickAt(bit int) int { return bit/leapTicks*leap + bit%leapTicks }

// tellID describes an ID by its time, node and counter.
func (l *generatorLab) tellID(id int64) string {
	parts := l.owners.definition.Decompose(sequencer.ID(id))
	return fmt.Sprintf("ID %d/%d/%d", clustertime.TickOf(parts.Time)-generatorBase, parts.Node, parts.Counter)
}
