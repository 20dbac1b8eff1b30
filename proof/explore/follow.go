package explore

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

// FollowScope bounds an exploration of members that follow committed rosters. Everything sent stays
// deliverable, in any order, once or repeatedly.
type FollowScope struct {
	Name     string
	Voters   int    // in ABC, starting with A: the members with a log
	Entries  int    // in the log after the start
	Rises    int    // of the ceiling
	Stale    bool   // raises from an earlier version are committed too, and refused
	Restarts int    // process restarts
	Foreign  bool   // another grid's roster is sent too
	Answers  bool   // the owner answers an operation
	Grants   bool   // only ticks that two owners may grant count, without the other rules
	Moves    string // roster moves, by the letters of Scope.Moves
	Script   string // instead: one move and its member per version
}

// followStart is the position of every member's roster at the start.
const followStart follow.Position = 3

// followWorld is a state. Slices are shared and never written to.
type followWorld struct {
	log     []followEntry
	members [maxMembers]followerID
	started [maxMembers]uint8
	sent    []followSentID // ascending
	rights  []followRights // ascending
	held    []holding      // reports about joiners
	holders []followProcess
	broken  string
}

// followEntry is one log entry, and the roster after it.
type followEntry struct {
	command followCommandID
	roster  rosterID
}

// followProcess is a member's process: an incarnation may have two if a rule is omitted.
type followProcess struct{ member, nth uint8 }

// followRights are the ticks that a process may grant in a term, as bits.
type followRights struct {
	term  uint8
	by    followProcess
	ticks uint8
}

// followSent is a command or a whole roster in transit.
type followSent struct {
	grid  roster.GridID
	entry *follow.Entry // else image
	image follow.Image
}

type (
	followerID      uint32
	followSentID    uint32
	followCommandID uint32
)

// followLab explores a scope.
type followLab struct {
	scope     FollowScope
	weak      FollowWeakness
	rules     *lab // for possible changes to a roster
	rosters   shelf[rosterID, *roster.Roster]
	commands  shelf[followCommandID, roster.Command]
	followers shelf[followerID, *follow.Follower]
	messages  shelf[followSentID, followSent]
	outcomes  map[followWork]followOutcome
}

// followWork is an input to a follower; it determines the outcome.
type followWork struct {
	follower followerID
	kind     uint8
	input    uint32
	at       follow.Position
}

type followOutcome struct {
	follower followerID
	refused  bool
}

// SearchFollow tries every step that a scope allows, with the rule weak omitted. It ends at the
// first tick that two owners may grant, or at the first broken rule.
func SearchFollow(s FollowScope, weak FollowWeakness, limits Limits) Result {
	rules := newLab(Scope{InSync: "BC", Nodes: 1, Holders: 1, Moves: s.Moves, Script: s.Script}, None)
	if s.Script != "" {
		rules.scope.InSync = "B"
	}
	return searchSpace(&followLab{scope: s, weak: weak, rules: rules, outcomes: map[followWork]followOutcome{}}, limits)
}

func (l *followLab) start() followWorld {
	first, err := l.rules.begin()
	if err != nil {
		panic(err)
	}
	w := followWorld{log: []followEntry{{roster: keep(&l.rosters, first)}}}
	for m := range maxMembers {
		f := follow.New(first.Grid)
		image := follow.Image{At: followStart, Roster: first}
		if m < l.scope.Voters {
			f.Install(image)
		} else if _, err := f.Adopt(first.Grid, image); err != nil {
			panic(err)
		}
		w.members[m] = keep(&l.followers, f)
		l.note(&w, m)
	}
	if l.scope.Foreign {
		other := *first
		other.Grid, other.Version, other.Ceiling = roster.GridID{2}, first.Version+1, first.Ceiling+1
		other.Partitions = slices.Clone(first.Partitions)
		other.Partitions[0].Owner = incarnation(1, 0)
		l.send(&w, followSent{grid: other.Grid, image: follow.Image{At: followStart + 1, Roster: &other}})
	}
	return w
}

// self returns the incarnation for a member's process.
func (l *followLab) self(w *followWorld, m int) roster.Incarnation {
	if l.weak == RestartKeepsName {
		return incarnation(m, 0)
	}
	return incarnation(m, int(w.started[m]))
}

// newest returns the committed roster after the last entry.
func (l *followLab) newest(w *followWorld) *roster.Roster {
	return l.rosters.get(w.log[len(w.log)-1].roster)
}

// at returns the committed roster at a position, nil if there is none yet.
func (l *followLab) at(w *followWorld, p follow.Position) (rosterID, bool) {
	i := int(p) - int(followStart)
	if i < 0 || i >= len(w.log) {
		return 0, false
	}
	return w.log[i].roster, true
}

// send makes a message deliverable.
func (l *followLab) send(w *followWorld, m followSent) {
	w.sent = with(w.sent, keep(&l.messages, m))
}

// note records a member's current state: the messages it sends on request, the ticks it may grant,
// and whether its rosters obey the rules.
func (l *followLab) note(w *followWorld, m int) {
	f := l.followers.get(w.members[m])
	served, log := f.Served(), f.Log()
	if committed, found := l.at(w, served.At); !found || committed != keep(&l.rosters, served.Roster) {
		l.breaks(w, "%s serves a roster at %d that was not committed there (R6)", nameOf(l.self(w, m)), served.At)
	}
	if committed, found := l.at(w, log.At); m < l.scope.Voters && (!found || committed != keep(&l.rosters, log.Roster)) {
		l.breaks(w, "the log's roster of %s at %d differs from the other voters'", nameOf(l.self(w, m)), log.At)
	}
	entries, _ := f.Since(followStart)
	for i := range entries {
		l.send(w, followSent{grid: served.Roster.Grid, entry: &entries[i]})
	}
	l.send(w, followSent{grid: served.Roster.Grid, image: served})
	if p := served.Roster.Partitions[0]; p.Owner == l.self(w, m) {
		w.grant(uint8(p.Term), followProcess{uint8(m), w.started[m]}, p.Floor, served.Roster.Ceiling)
	}
}

// breaks records a broken rule; the first one counts.
func (l *followLab) breaks(w *followWorld, format string, args ...any) {
	if w.broken == "" && !l.scope.Grants {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// grant records that a process may grant the ticks from a floor to a ceiling. Within one term its
// table keeps grants apart.
func (w *followWorld) grant(term uint8, by followProcess, from, to clustertime.Tick) {
	var ticks uint8
	for t := from; t < to; t++ {
		ticks |= 1 << (t - base)
	}
	w.rights = slices.Clone(w.rights)
	own := -1
	for i, r := range w.rights {
		switch {
		case r.term == term && r.by == by:
			own = i
		case r.ticks&ticks != 0:
			w.broken = fmt.Sprintf("two owners may grant tick %d: %s in term %d and %s in term %d", lowestBit(r.ticks&ticks),
				r.by, r.term, by, term)
		}
	}
	if own >= 0 {
		w.rights[own].ticks |= ticks
		return
	}
	w.rights = append(w.rights, followRights{term, by, ticks})
	slices.SortFunc(w.rights, func(a, b followRights) int {
		return int(a.term)<<8 + int(a.by.member)<<4 + int(a.by.nth) - int(b.term)<<8 - int(b.by.member)<<4 - int(b.by.nth)
	})
}

func (p followProcess) String() string {
	name := string(rune('A' + p.member))
	if p.nth > 0 {
		name += fmt.Sprint(p.nth + 1)
	}
	return name
}

func lowestBit(b uint8) int {
	for i := range 8 {
		if b>>i&1 == 1 {
			return i
		}
	}
	return -1
}

func (l *followLab) wrong(w *followWorld) string { return w.broken }

func (l *followLab) append(b []byte, w *followWorld) []byte {
	b = append(b, byte(len(w.log)))
	for _, e := range w.log {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.command)), uint64(e.roster))
	}
	for m := range w.members {
		b = append(binary.AppendUvarint(b, uint64(w.members[m])), w.started[m])
	}
	b = appendIDs(b, w.sent)
	b = append(b, byte(len(w.rights)))
	for _, r := range w.rights {
		b = append(b, r.term, r.by.member, r.by.nth, r.ticks)
	}
	b = append(b, byte(len(w.held)))
	for _, h := range w.held {
		b = append(b, h.member, h.version)
	}
	b = append(b, byte(len(w.holders)))
	for _, p := range w.holders {
		b = append(b, p.member, p.nth)
	}
	return append(b, bit(w.broken != ""))
}

// run runs a function on a copy of a follower, once per input.
func (l *followLab) run(work followWork, do func(f *follow.Follower) error) followOutcome {
	known, found := l.outcomes[work]
	if !found {
		f := deepCopy(l.followers.get(work.follower))
		known.refused = do(f) != nil
		known.follower = l.followers.put(plain.append(nil, reflect.ValueOf(f)), f)
		l.outcomes[work] = known
	}
	return known
}
