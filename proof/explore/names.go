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

// NameScope bounds an exploration of definitions: the processes and disks that have a name, and the
// replies about it.
type NameScope struct {
	Name    string
	Durable string // members with a disk, in "ABC"
	InSync  string // replicas besides the owner A at the start
	Voters  string // without disks: the voters at the start; a majority of them keeps definitions

	Versions   int    // roster versions, including the first one
	Script     string // one command for each later version, as in "lBs": see the letters below
	Moves      string // instead: commands that may come at any version and for any member
	Operations int    // creates, destroys, adoptions and folds, in total
	Lives      int    // creates among them
	Restarts   int    // process restarts
	Wipes      int    // lost disks, or memories without disks
	Show       bool   // holders present lives that a loss made an owner forget (O6)
	Fold       bool   // tombstones are removed
	Opens      bool   // the name is requested before any reply could be contradicted
	Disks      bool   // each named disk must have every acknowledged life, at every moment
}

// The letters in Script and Moves. In a script all except the last two are followed by a member.
const (
	nameTake    = 't' // takes over; the previous owner stays in sync (R2)
	nameHeir    = 'h' // takes over, and the previous owner, which is dead, is removed with its disk
	nameLose    = 'l' // has the partition alone after a loss (R3)
	nameLoseTo  = 'L' // the same, and all others are in sync with it
	nameDrop    = 'd' // is dropped (R4)
	nameStrike  = 'D' // is dropped because it is dead, with its disk (D3)
	nameReturn  = 'r' // registers its newest process; a partition that it owned is taken over or lost to itself (R8)
	nameForget  = 'f' // its disk is given up; it is removed in the version before
	nameRemove  = 'x' // is removed
	nameAdd     = 'a' // begins to join (R5)
	nameAdmit   = 'm' // is admitted, if the owner reports it at this version
	namePersist = 's' // the in-sync replicas' disks are named, if the owner reports it at this version (D4)
	nameVoters  = 'v' // becomes a voter, or stops being one
	nameEmpty   = 'e' // only a new version
)

// nameWorld is one state of the grid. Members are immutable: a step copies the ones it changes.
type nameWorld struct {
	log      []*roster.Roster
	members  [maxMembers]*nameMember
	copied   [maxMembers]bool // in this step
	terms    []nameTerm       // by term
	lives    []nameLife
	newest   int // the newest acknowledged life, -1 none
	dead     bool
	ops      int
	restarts int
	wipes    int
	late     []roster.MemberID // for a weakness: disks reported at an earlier version
	wrong    string
}

// nameMember is a member: its disk, and its process with the real machine.
type nameMember struct {
	id       roster.MemberID
	starts   int
	self     roster.Incarnation
	version  roster.Version // its newest version
	clock    time.Duration
	machine  *partition.Machine
	busy     []nameBusy     // the machine waits for their replies to a delivery
	opens    int            // without a reply so far
	reported roster.Version // the version at which it had the disks named
	holding  roster.Holding // a joiner's, as reported
	pending  *partition.Write
	disk     map[string]partition.DefinitionRecord
	code     string // its encoding, "" if it may have changed
}

// nameBusy is a delivery in progress: its receiver, and whether it has definitions alone.
type nameBusy struct {
	to   roster.Incarnation
	keep bool
}

// nameTerm is the traffic from a term's owner: the newest delivery to each member (an earlier one
// that arrives late equals a slow owner), its open collections, and the last disk presented to it.
type nameTerm struct {
	sent  [maxMembers]*partition.Delivery
	asked [maxMembers]*partition.Collection
	shown *nameShown
}

// nameShown is the reply to a collection.
type nameShown struct {
	of          partition.Collection
	definitions partition.Definitions
}

// nameLife is a life that was started: the one it replaced, -1 none, and the version at which it
// was first acknowledged.
type nameLife struct {
	ref      attachment.Ref
	replaced int
	answered roster.Version
}

// nameLab explores a scope. Its effects belong to the running member.
type nameLab struct {
	scope   NameScope
	weak    NameWeakness
	encoder *encoder
	callers *nameCallers
	rosters shelf[rosterID, *roster.Roster]
	numbers map[*roster.Roster]uint64 // by the rosters' contents
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

// placeOf returns the number of an incarnation's member.
func placeOf[T ~string](member T) int { return int(member[15] - 'a') }

// begin starts a member's process, with only the disk.
func (l *nameLab) begin(m *nameMember) {
	m.starts++
	m.self = roster.Incarnation(fmt.Sprintf("%s-%016x", m.id, m.starts))
	m.version, m.clock, m.busy, m.opens, m.pending = 0, firstClock, nil, 0, nil
	m.reported, m.holding = 0, roster.Holding{}
	m.machine = partition.New(0, m.self, m.clock, l)
	m.machine.KeepTombstones(0)
}

// write applies a write to the disk.
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

// definitions returns a member's stored definitions.
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

// start returns the initial world: A owns the partition, all replicas have its empty table in
// memory and on disk, and their disks are named.
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

// settleStart delivers everything to every member.
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

// fork copies the world except the members, which are copied when they change.
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

// actor returns the member that acts as a term's owner, -1 for none.
func (w *nameWorld) actor(term roster.Term) int {
	return slices.IndexFunc(w.members[:], func(m *nameMember) bool {
		return m.machine.Acts() &&
			m.machine.Position().Term == term
	})
}

// known returns a member's roster.
func (w *nameWorld) known(m int) *roster.Roster {
	for _, r := range slices.Backward(w.log) {
		if r.Version <= w.members[m].version {
			return r
		}
	}
	return &roster.Roster{Partitions: make([]roster.Partition, 1)}
}
