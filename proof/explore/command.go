package explore

import (
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// apply is Roster.Apply, changed by a weakness. older is the ceiling read by the command's author.
func (l *lab) apply(r *roster.Roster, c roster.Command, older clustertime.Tick) (*roster.Roster, error) {
	from := r
	if l.weak == OwnerOutsideSync && c.Change != nil && len(c.Change.Take) == 1 {
		from = withEntry(r, func(p *roster.Partition) {
			p.InSync = append(slices.Clone(p.InSync), c.Change.Take[0].Member)
			slices.Sort(p.InSync)
			p.InSync = slices.Compact(p.InSync)
		})
	}
	next, err := from.Apply(c)
	if err != nil {
		return nil, err
	}
	if l.weak == StopNotCleared && r.Stopped > 0 && next.Stopped == 0 {
		kept := *next
		kept.Stopped = r.Stopped
		next = &kept
	}
	taken := c.Change != nil && len(c.Change.Take) > 0
	lost := c.Change != nil && len(c.Change.Lose) > 0
	switch {
	case l.weak == NoFloorAtTakeover && taken, l.weak == NoFloorAtLoss && lost:
		next = withEntry(next, func(p *roster.Partition) { p.Floor = base })
	case l.weak == OldFloor && (taken || lost):
		next = withEntry(next, func(p *roster.Partition) { p.Floor = older })
	}
	return next, nil
}

// withEntry returns a roster with a changed entry for its one partition.
func withEntry(r *roster.Roster, edit func(*roster.Partition)) *roster.Roster {
	bent := *r
	bent.Partitions = slices.Clone(r.Partitions)
	edit(&bent.Partitions[0])
	return &bent
}

// entry is a possible command, and the roster after it.
type entry struct {
	change *roster.Change // nil for a raise
	next   rosterID
}

// entriesKey has everything that the next commands depend on.
type entriesKey struct {
	newest  rosterID
	started [maxMembers]uint8
	held    string
	older   string // the rosters before the newest, for OldFloor
}

// entries returns the possible next log entries.
func (l *lab) entries(w *world) []entry {
	key := entriesKey{newest: w.log[len(w.log)-1], started: w.started}
	for _, h := range w.held {
		key.held += string([]byte{h.member, h.version})
	}
	if l.weak == OldFloor {
		key.older = string(appendIDs(nil, w.log))
	}
	known, found := l.entriesOf[key]
	if !found {
		known = l.findEntries(w)
		l.entriesOf[key] = known
	}
	return known
}

func (l *lab) findEntries(w *world) []entry {
	r := l.newest(*w)
	var out []entry
	add := func(c roster.Command, older clustertime.Tick) {
		if next, err := l.apply(r, c, older); err == nil {
			out = append(out, entry{change: c.Change, next: keep(&l.rosters, next)})
		}
	}
	if l.mayRise(r) {
		add(raise(r), 0)
	}
	if int(r.Version-l.rosters.get(w.log[0]).Version)+1 >= l.scope.Versions {
		return out
	}
	var current []roster.Incarnation
	for m := range l.members() {
		current = append(current, l.processes.get(w.processes[m]).self)
	}
	for _, c := range l.changes(r, current, w.held) {
		add(roster.Command{From: r.Version, Change: &c}, r.Ceiling)
		for _, id := range w.log {
			if l.weak == OldFloor {
				add(roster.Command{From: r.Version, Change: &c}, l.rosters.get(id).Ceiling)
			}
		}
	}
	return out
}

// mayRise reports whether the scope allows the ceiling to rise again. It starts one tick above
// base.
func (l *lab) mayRise(r *roster.Roster) bool { return int(r.Ceiling-base)-1 < l.scope.Rises }

// raise returns the command that moves the ceiling up by one tick.
func raise(r *roster.Roster) roster.Command {
	return roster.Command{From: r.Version, Raise: &roster.Raise{Time: (r.Ceiling + 1).Add(-r.Settings.Window)}}
}

// changes returns the possible next changes to the roster. A proposal from an older version is
// refused, so only the newest matters. current are the running processes, by member.
func (l *lab) changes(r *roster.Roster, current []roster.Incarnation, held []holding) []roster.Change {
	p := r.Partitions[0]
	var out []roster.Change
	for _, m := range r.Members {
		i := m.Incarnation
		one := []roster.Replica{{Member: i}}
		inSync := slices.Contains(p.InSync, i)
		if p.Owner != i && (inSync || l.weak == OwnerOutsideSync) {
			out = l.may(out, r, moveTake, i, roster.Change{Take: one})
			out = l.may(out, r, moveDepose, i, roster.Change{Take: one, Remove: []roster.Incarnation{p.Owner}})
		}
		out = l.may(out, r, moveLose, i, roster.Change{Lose: []roster.Loss{{Owner: i}}})
		if with := others(r, i); len(with) > 0 {
			out = l.may(out, r, moveLoseTo, i, roster.Change{Lose: []roster.Loss{{Owner: i, With: with}}})
		}
		if p.Owner != i {
			out = l.may(out, r, moveRemove, i, roster.Change{Remove: []roster.Incarnation{i}})
		}
		if p.Owner != i && (inSync || p.Joining == i) {
			out = l.may(out, r, moveDrop, i, roster.Change{Drop: one})
		}
		if !inSync && p.Joining == "" {
			out = l.may(out, r, moveAdd, i, roster.Change{Add: one})
		}
		if p.Joining == i && l.admissible(r, i, held) {
			out = l.may(out, r, moveAdd, i, roster.Change{Admit: one})
		}
	}
	return append(out, l.registrations(r, current)...)
}

// may appends a change if the scope has it: any of its moves at any version, or the script's move
// for this version.
func (l *lab) may(out []roster.Change, r *roster.Roster, move rune, to roster.Incarnation,
	c roster.Change) []roster.Change {
	at := 2 * (int(r.Version) - int(firstTerm))
	pair := string(move) + string(rune('A'+memberOf(to)))
	if strings.ContainsRune(l.scope.Moves, move) || at < len(l.scope.Script) && l.scope.Script[at:at+2] == pair {
		return append(out, c)
	}
	return out
}

// admissible is the leader's rule (grid's serveHeld): at exactly the version that the command is
// computed from, the owner reported that the joiner holds the table.
func (l *lab) admissible(r *roster.Roster, i roster.Incarnation, held []holding) bool {
	return l.weak == JoinerAdmittedEarly || slices.ContainsFunc(held, func(h holding) bool {
		return int(h.member) == memberOf(i) && (h.version == uint8(r.Version) || l.weak == AdmissionRebased)
	})
}

// registrations returns the entries that register processes, where a new incarnation replaces the
// older one (R8).
func (l *lab) registrations(r *roster.Roster, current []roster.Incarnation) []roster.Change {
	var out []roster.Change
	for _, i := range current {
		if _, known := r.Member(i); known || i == "" {
			continue
		}
		join := roster.Change{Join: []roster.Member{member(i)}}
		p := r.Partitions[0]
		if p.Owner.Member() != i.Member() {
			out = l.may(out, r, moveReturn, i, join)
			continue
		}
		for _, heir := range append(others(r, p.Owner), i) {
			c := join
			if slices.Contains(p.InSync, heir) {
				c.Take = []roster.Replica{{Member: heir}}
			} else {
				c.Lose = []roster.Loss{{Owner: heir}}
			}
			out = l.may(out, r, moveReturn, i, c)
		}
	}
	return out
}

func member(i roster.Incarnation) roster.Member {
	return roster.Member{Incarnation: i, Durable: true}
}

// others returns the members except one.
func others(r *roster.Roster, i roster.Incarnation) []roster.Incarnation {
	var out []roster.Incarnation
	for _, m := range r.Members {
		if m.Incarnation != i {
			out = append(out, m.Incarnation)
		}
	}
	return out
}

// begin returns the roster at a scope's start: A owns the partition.
func (l *lab) begin() (*roster.Roster, error) {
	change := roster.Change{Lose: []roster.Loss{{Owner: incarnation(0, 0)}}}
	for m := range l.members() {
		change.Join = append(change.Join, member(incarnation(m, 0)))
	}
	for _, letter := range l.scope.InSync {
		change.Lose[0].With = append(change.Lose[0].With, incarnation(int(letter-'A'), 0))
	}
	r := &roster.Roster{}
	for _, c := range []roster.Command{
		{Form: &roster.Form{
			Grid:     roster.GridID{1},
			Settings: roster.Settings{Name: name, Partitions: 1, Backups: 1, Window: window},
			Ceiling:  base,
		}},
		{Change: &change},
		{Raise: &roster.Raise{Time: 1}},
	} {
		c.From = r.Version
		next, err := r.Apply(c)
		if err != nil {
			return nil, err
		}
		r = next
	}
	return r, nil
}

func (l *lab) members() int {
	if l.scope.Alone {
		return 1
	}
	return maxMembers
}
