package explore

import (
	"math"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// process is one incarnation of a member: its partition's real machine, and its environment.
type process struct {
	self    roster.Incarnation
	roster  rosterID // the newest applied by this member
	clock   time.Duration
	ended   bool                 // the member grants nothing further (S1)
	busy    []roster.Incarnation // the machine waits for their replies to a delivery
	machine *partition.Machine
}

// outcome is the result of an input to a process.
type outcome struct {
	process   processID
	letters   []letterID
	replies   []replyID
	answers   []answer         // replies that have left
	admission []roster.Holding // none or one
	stop      clustertime.Tick // at a clean stop, 0 for none
}

// answer is a reply to a holder about its attachment, or about a life if holder is noHolder.
type answer struct {
	version roster.Version
	holder  int8
	node    int8
	from    clustertime.Tick
	until   clustertime.Tick
	life    refID
}

const noHolder = -1

// latest is a cluster time after every mark.
const latest clustertime.Tick = math.MaxInt64

// Safety does not depend on clocks, so a process's clock moves only to make something due. A pause
// above a second does not count as silence of holders, since they could not have reached the owner.
const (
	// firstClock is a new process's clock.
	firstClock = time.Hour
	// learningPause is the time after which an owner stops waiting for holders' claims after a
	// loss.
	learningPause = 5 * time.Second
	// longPause exceeds every wait in a machine except the one for silent holders.
	longPause = 2500 * time.Millisecond
	// tickPause is shorter than a gap after which a machine counts itself as stopped.
	tickPause = 600 * time.Millisecond
)

func (l *lab) newProcess(i roster.Incarnation, known rosterID) processID {
	p := &process{self: i, roster: known, clock: firstClock, machine: partition.New(0, i, firstClock, l.effects)}
	p.machine.KeepTombstones(0)
	return l.keepProcess(p)
}

// run delivers an input to a process and lets it settle. It returns nil if the input has no effect.
func (l *lab) run(id processID, in input) *outcome {
	key := work{id, in}
	if out, known := l.outcomes[key]; known {
		return out
	}
	l.runs++
	p := deepCopy(l.processes.get(id))
	out := &outcome{}
	l.effects.begin(p, out)
	if !l.serve(p, in, out) || l.beyond(p) {
		l.outcomes[key] = nil
		return nil
	}
	l.answerDeliveries(p, in)
	out.process = l.keepProcess(p)
	if out.process == id && len(out.replies)+len(out.answers)+len(out.admission) == 0 && out.stop == 0 {
		out = nil
	}
	l.outcomes[key] = out
	return out
}

// beyond reports whether a process is outside the scope: the table was changed too often in its
// term, or has other logical nodes. The first term begins with the start's operations.
func (l *lab) beyond(p *process) bool {
	at := p.machine.Position()
	made := int(at.Number)
	if at.Term == firstTerm {
		made -= 1 + l.scope.Attached
	}
	return made > l.scope.Operations || slices.ContainsFunc(p.machine.Table().Tenants(), func(t partition.Tenant) bool {
		return int(t.Node) >= l.scope.Nodes
	})
}

// answerDeliveries ends every delivery that the machine waits for, so that it sends its current
// table: the network may have lost the earlier one, and may deliver it at any time. The empty reply
// makes no statement about a table. It also answers every question whether there is a later owner,
// so replies leave before the real answer.
func (l *lab) answerDeliveries(p *process, in input) {
	busy := p.busy
	p.busy = nil
	for _, to := range busy {
		p.machine.Delivered(l.view(p, in), partition.Delivery{To: to, Question: math.MaxUint64}, partition.Holds{}, nil)
	}
	slices.Sort(p.busy)
}

// view returns a process's view. Cluster time is at the beginning of the grantable range, where it
// restricts grants least.
func (l *lab) view(p *process, in input) partition.View {
	v := partition.View{Roster: l.shown(p.roster), Time: base, Mono: p.clock, Ended: p.ended && l.weak != StopStillGrants}
	switch {
	case l.weak == AnyCeiling && in.roster != 0:
		v.Roster = withCeiling(v.Roster, l.rosters.get(in.roster).Ceiling)
	case in.short:
		v.Roster = withCeiling(v.Roster, base+1)
	case in.kind == inFold:
		v.Time = latest
	case in.kind == inPause, in.kind == inSilence:
		v.Time = 1 // too early to remove any life's tombstone
	}
	return v
}

// shown returns a roster as the machines see it: no member has a disk.
func (l *lab) shown(id rosterID) *roster.Roster {
	for int(id) >= len(l.volatile) {
		bare := *l.rosters.get(rosterID(len(l.volatile)))
		bare.Members = slices.Clone(bare.Members)
		for i := range bare.Members {
			bare.Members[i].Durable = false
		}
		l.volatile = append(l.volatile, &bare)
	}
	return l.volatile[id]
}

func withCeiling(r *roster.Roster, ceiling clustertime.Tick) *roster.Roster {
	bent := *r
	bent.Ceiling = ceiling
	return &bent
}
