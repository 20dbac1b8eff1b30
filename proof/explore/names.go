package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// NameScope bounds an exploration of definitions: the processes and disks that know a
// name, and the answers about it.
type NameScope struct {
	Name    string
	Durable string // members with a disk, of "ABC"
	InSync  string // replicas beside the owner A at the start
	Voters  string // without disks: the voters at the start, of which a majority keeps definitions

	Versions   int    // of the roster, the one at the start included
	Script     string // one command for each later version, as in "lBs": see the letters below
	Moves      string // instead: commands that may come at any version and for any member
	Operations int    // creates, destroys, adoptions and folds, all together
	Lives      int    // creates among them
	Restarts   int    // of processes
	Wipes      int    // of disks, or of memories without disks
	Show       bool   // holders show lives that a loss made an owner forget (O6)
	Fold       bool   // tombstones are forgotten
	Opens      bool   // the name is asked for before there is any answer to contradict
	Disks      bool   // each named disk has to know every answered life, at every moment
}

// The letters of Script and Moves. In a script all but the last two are followed by a member.
const (
	nameTake    = 't' // takes over; the owner before stays in sync (R2)
	nameHeir    = 'h' // takes over, and the owner before, which is dead, is removed with its disk
	nameLose    = 'l' // has the partition alone after a loss (R3)
	nameLoseTo  = 'L' // the same, and all others are in sync with it
	nameDrop    = 'd' // is dropped (R4)
	nameStrike  = 'D' // is dropped because it is dead, with its disk (D3)
	nameReturn  = 'r' // registers its newest process; a partition that it owned is taken over or lost to itself (R8)
	nameForget  = 'f' // its disk is given up; it is removed in the version before
	nameRemove  = 'x' // is removed
	nameAdd     = 'a' // begins to join (R5)
	nameAdmit   = 'm' // is admitted, if the owner says so at this version
	namePersist = 's' // the disks of the in-sync replicas are named, if the owner says so at this version (D4)
	nameVoters  = 'v' // becomes a voter, or one no longer
	nameEmpty   = 'e' // nothing but a version
)

// nameWorld is one state of the grid. What members have is never written to: a step
// copies those that it changes.
type nameWorld struct {
	log      []*roster.Roster
	members  [maxMembers]*nameMember
	copied   [maxMembers]bool // in this step
	terms    []nameTerm       // by term
	lives    []nameLife
	newest   int // the newest life that was answered, -1 none
	dead     bool
	ops      int
	restarts int
	wipes    int
	late     []roster.MemberID // of a weakness: disks that were reported at an earlier version
	wrong    string
}

// nameMember is a member: its disk, and the process that runs with its real machine.
type nameMember struct {
	id       roster.MemberID
	starts   int
	self     roster.Incarnation
	version  roster.Version // the newest that it knows
	clock    time.Duration
	machine  *partition.Machine
	busy     []nameBusy     // the machine waits for what they answer to a delivery
	opens    int            // that it has not answered
	reported roster.Version // at which it had the disks named
	holding  roster.Holding // of a joiner, that it reported
	pending  *partition.Write
	disk     map[string]partition.DefinitionRecord
	code     string // its encoding, "" if it may have changed
}

// nameBusy is a delivery in progress: to whom, and whether it has definitions alone.
type nameBusy struct {
	to   roster.Incarnation
	keep bool
}

// nameTerm is the traffic of a term's owner: the newest delivery to each member (an
// earlier one that arrives late is a slow owner), its open collections, and the last disk
// that was shown to it.
type nameTerm struct {
	sent  [maxMembers]*partition.Delivery
	asked [maxMembers]*partition.Collection
	shown *nameShown
}

// nameShown is the answer to a collection.
type nameShown struct {
	of          partition.Collection
	definitions partition.Definitions
}

// nameLife is a life that was begun: the one it replaced, -1 none, and the version at
// which it was answered first.
type nameLife struct {
	ref      attachment.Ref
	replaced int
	answered roster.Version
}

// nameLab runs a scope. Its effects are those of the member that runs at the moment.
type nameLab struct {
	scope   NameScope
	weak    NameWeakness
	encoder *encoder
	callers *nameCallers
	rosters shelf[rosterID, *roster.Roster]
	numbers map[*roster.Roster]uint64 // of each roster's content
	world   *nameWorld
	member  int
	news    []nameNews
	answers []nameAnswer
}

func newNameLab(s NameScope, weak NameWeakness) *nameLab {
	l := &nameLab{scope: s, weak: weak, numbers: map[*roster.Roster]uint64{}}
	l.callers = newNameCallers(l)
	l.encoder = l.worldEncoder()
	return l
}

// inMemory reports whether voters keep the definitions in memory.
func (l *nameLab) inMemory() bool { return l.scope.Voters != "" }

func (l *nameLab) durable(m int) bool { return strings.ContainsRune(l.scope.Durable, rune('A'+m)) }

func memberID(m, wipes int) roster.MemberID {
	return roster.MemberID(fmt.Sprintf("%015x%x", wipes, 0xa+m))
}

// placeOf is the number of the member that an incarnation is of.
func placeOf[T ~string](member T) int { return int(member[15] - 'a') }

// begin starts a member's process, which has nothing but the disk.
func (l *nameLab) begin(m *nameMember) {
	m.starts++
	m.self = roster.Incarnation(fmt.Sprintf("%s-%016x", m.id, m.starts))
	m.version, m.clock, m.busy, m.opens, m.pending = 0, firstClock, nil, 0, nil
	m.reported, m.holding = 0, roster.Holding{}
	m.machine = partition.New(0, m.self, m.clock, l)
}

// write brings a write to the disk.
func (m *nameMember) write(c partition.DefinitionChange) {
	if c.Whole != nil {
		clear(m.disk)
		for _, r := range c.Whole.Records {
			m.disk[r.Ref.Definition.Name()] = r
		}
	}
	for _, r := range c.Changed {
		m.disk[r.Ref.Definition.Name()] = r
	}
	for _, gone := range c.Removed {
		delete(m.disk, gone)
	}
}

// definitions returns the definitions that a member has stored.
func (l *nameLab) definitions(m *nameMember) partition.Definitions {
	if l.inMemory() {
		d, _ := m.machine.Kept()
		return d
	}
	var d partition.Definitions
	for _, of := range slices.Sorted(maps.Keys(m.disk)) {
		d.Records = append(d.Records, m.disk[of])
	}
	return d
}

// start is the world at the beginning: A owns the partition, all replicas have its empty
// table in memory and on disk, and their disks are named.
func (l *nameLab) start() (*nameWorld, error) {
	w := &nameWorld{newest: -1, terms: make([]nameTerm, l.scope.Versions+5)}
	form := roster.Form{Grid: roster.GridID{1}, Ceiling: base, Settings: roster.Settings{
		Name: "g", Partitions: 1, Backups: maxMembers - 1, Window: roster.MinWindow,
	}}
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil {
		return nil, err
	}
	var first roster.Change
	for m := range w.members {
		w.members[m] = &nameMember{id: memberID(m, 0), disk: map[string]partition.DefinitionRecord{}}
		l.begin(w.members[m])
		first.Join = append(first.Join, l.record(w, m))
	}
	loss := roster.Loss{Owner: w.members[0].self}
	for _, letter := range l.scope.InSync {
		loss.With = append(loss.With, w.members[letter-'A'].self)
	}
	first.Lose = []roster.Loss{loss}
	for _, letter := range l.scope.Voters {
		first.Keepers = append(first.Keepers, w.members[letter-'A'].self)
	}
	if r, err = r.Apply(roster.Command{From: r.Version, Change: &first}); err != nil {
		return nil, err
	}
	w.log = append(w.log, r)
	l.settleStart(w)
	if w.members[0].reported == r.Version {
		change := roster.Change{Persist: []roster.PartitionID{0}}
		if r, err = r.Apply(roster.Command{From: r.Version, Change: &change}); err != nil {
			return nil, err
		}
		w.log = append(w.log, r)
		l.settleStart(w)
	}
	w.log = w.log[len(w.log)-1:]
	return w, nil
}

// settleStart has every member know everything.
func (l *nameLab) settleStart(w *nameWorld) {
	for m := range w.members {
		l.learn(w, m, w.roster())
	}
	term := w.roster().Partitions[0].Term
	for range maxMembers {
		for m := range w.members {
			if w.terms[term].sent[m] != nil {
				l.deliver(w, m, term)
			}
			if w.members[m].pending != nil {
				l.land(w, m)
			}
		}
	}
}

func (l *nameLab) record(w *nameWorld, m int) roster.Member {
	return roster.Member{Incarnation: w.members[m].self, Durable: l.durable(m)}
}

func (w *nameWorld) roster() *roster.Roster { return w.log[len(w.log)-1] }

// fork copies the world, but for the members, which are copied when they change.
func (w *nameWorld) fork() *nameWorld {
	next := *w
	next.terms, next.lives = slices.Clone(w.terms), slices.Clone(w.lives)
	next.copied = [maxMembers]bool{}
	return &next
}

// change returns a member that this step may write to.
func (w *nameWorld) change(m int) *nameMember {
	if !w.copied[m] {
		w.members[m], w.copied[m] = deepCopy(w.members[m]), true
	}
	w.members[m].code = ""
	return w.members[m]
}

// actor returns the member that acts as the owner of a term, -1 for none.
func (w *nameWorld) actor(term roster.Term) int {
	return slices.IndexFunc(w.members[:], func(m *nameMember) bool { return m.machine.Acts() && m.machine.Position().Term == term })
}

// known returns the roster that a member knows.
func (w *nameWorld) known(m int) *roster.Roster {
	for _, r := range slices.Backward(w.log) {
		if r.Version <= w.members[m].version {
			return r
		}
	}
	return &roster.Roster{Partitions: make([]roster.Partition, 1)}
}
