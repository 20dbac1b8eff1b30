package partition

import (
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// In a grid without data directories a majority of the voters keeps each partition's definitions in
// memory. The rules are the same as for disks (D1 to D6), with a process's memory in place of a
// disk. A keeper that is a replica stores its own table. The owner sends the definitions to the
// other keepers, separately from replica updates.

// kept are the definitions that this process keeps in memory. They are no part of its table: a loss
// empties the table, and the next owner requests the kept definitions.
type kept struct {
	position backup.Position // position of their table; zero without definitions
	base     clustertime.Tick
	records  map[string]DefinitionRecord
}

// apply updates the definitions to a later table.
func (k *kept) apply(p backup.Position, c DefinitionChange) {
	if c.Whole != nil {
		k.records = make(map[string]DefinitionRecord, len(c.Whole.Records))
		for _, r := range c.Whole.Records {
			k.records[r.Ref.Definition.Name()] = r
		}
	}
	for _, r := range c.Changed {
		k.records[r.Ref.Definition.Name()] = r
	}
	for _, name := range c.Removed {
		delete(k.records, name)
	}
	k.position, k.base = p, c.Base
}

// Kept returns the definitions that this process keeps in memory, sorted by name, and the
// position of their table, which is zero if it keeps none.
func (m *Machine) Kept() (Definitions, backup.Position) {
	d := Definitions{Base: m.kept.base}
	for _, name := range slices.Sorted(maps.Keys(m.kept.records)) {
		d.Records = append(d.Records, m.kept.records[name])
	}
	return d, m.kept.position
}

// keep stores the definitions of this replica's table in memory, if they are needed there: only for
// a complete table with the newest known term (D1). It reports whether it did.
func (m *Machine) keep() bool {
	if !m.table.Complete() || !m.replica.IsKeeper() && !m.replica.Acts() {
		return false
	}
	p, useful := m.replica.Storable()
	if !useful {
		return false
	}
	c := DefinitionChange{Base: m.kept.base}
	if m.table.Unstored() {
		c = m.table.TakeUnstored()
	}
	m.kept.apply(p, c)
	m.replica.Stored(p)
	for _, k := range m.keeping {
		k.note(c)
	}
	return true
}

// forgetKept drops definitions that no owner needs. Within a term they stay, because its owner
// counts on them.
func (m *Machine) forgetKept() {
	named := slices.Contains(m.replica.Disks(0).Named, m.replica.Self().Member())
	if p := m.kept.position; p.Term > 0 && p.Term < m.replica.Newest() && !named && !m.replica.IsKeeper() {
		m.kept = kept{}
		m.table.ForgetStored()
	}
}

// keeping is the owner's state for a keeper that is no replica.
type keeping struct {
	known   bool            // it has definitions of this term
	number  uint64          // table number, if known
	changed map[string]bool // names that it lacks, or may lack
	sending map[string]bool // changed names in the delivery in progress
}

// note records which names a change is about.
func (k *keeping) note(c DefinitionChange) {
	k.known = k.known && c.Whole == nil
	for _, r := range c.Changed {
		k.changed[r.Ref.Definition.Name()] = true
	}
	for _, name := range c.Removed {
		k.changed[name] = true
	}
}

// observeKeepers records the members that keep definitions, by the newest roster, and are
// neither this one nor a replica to which its owner sends the table.
func (m *Machine) observeKeepers(p roster.Partition) {
	m.others = nil
	if s := m.replica.Storage(); s.Memory {
		m.others = slices.DeleteFunc(slices.Clone(s.Needed), func(i roster.Incarnation) bool {
			return i == m.replica.Self() || i == p.Joining || slices.Contains(p.InSync, i)
		})
	}
}

// keepers returns the members to which an owner sends definitions alone; read only.
func (m *Machine) keepers() []roster.Incarnation {
	if !m.replica.Acts() {
		return nil
	}
	return m.others
}

// sendDefinitions sends each keeper the definitions that it lacks, or a read barrier. A keeper that
// lacks none has stored the table, since none of its definitions have changed.
func (m *Machine) sendDefinitions() {
	if !m.table.Complete() {
		return
	}
	for _, to := range m.keepers() {
		s, k := m.senderTo(to), m.keeping[to]
		if s.busy {
			continue
		}
		if k == nil {
			k = &keeping{changed: map[string]bool{}}
			m.keeping[to] = k
		}
		if k.known && len(k.changed) == 0 {
			m.replica.StoredBy(to, m.replica.Position())
			if s.answered >= m.keepersAsked {
				continue
			}
		}
		s.busy = true
		u := Update{Version: m.replica.Version(), Position: m.replica.Position(), Keep: true}
		if k.known {
			c := m.table.definitionsOf(k.changed)
			u.Since, u.Changes = k.number, []TableChange{c}
			k.sending = k.changed
		} else {
			whole := m.table.definitionState()
			u.Whole = &whole
		}
		k.changed = map[string]bool{}
		m.member.Send(Delivery{To: to, Update: u, Pause: s.pause, Question: m.questions})
	}
}

// heardKeeper processes a keeper's answer to definitions.
func (m *Machine) heardKeeper(d Delivery, h Holds, err error) {
	k, s := m.keeping[d.To], m.senderTo(d.To)
	if k == nil {
		k = &keeping{changed: map[string]bool{}} // from an earlier term
	}
	switch {
	case err != nil:
		s.pause = min(2*s.pause, lastPause)
	case h.NotYet, !m.confirms(max(h.Newest, h.Stored.Term)):
	default:
		s.pause = firstPause
		if !h.Gap {
			s.answered = max(s.answered, d.Question)
		}
		m.replica.Heard(h.Newest)
		m.replica.StoredBy(d.To, h.Stored)
		k.number = d.Update.Position.Number
		k.known = !h.Gap && d.Update.Position.Term == m.replica.Position().Term && h.Stored.Compare(d.Update.Position) >= 0
		if k.known {
			k.sending = nil
		}
	}
	maps.Copy(k.changed, k.sending) // it may lack them still
	k.sending = nil
	if !slices.Contains(m.keepers(), d.To) {
		delete(m.keeping, d.To)
	}
}

// acceptDefinitions stores definitions that another owner sends.
func (m *Machine) acceptDefinitions(u Update) (Holds, error) {
	fresh, err := m.replica.Keep(u)
	switch {
	case err != nil:
		return m.refusal(err)
	case fresh:
		m.kept.apply(u.Position, changeOf(u))
		m.table.ForgetStored() // a table of this replica no longer follows them
	}
	return m.holds(false), nil
}

// changeOf returns the definition changes in an update.
func changeOf(u Update) DefinitionChange {
	var c DefinitionChange
	if u.Whole != nil {
		c.Base, c.Whole = u.Whole.Base, &Definitions{Base: u.Whole.Base, Records: definitionsIn(u.Whole.Records)}
	}
	for _, part := range u.Changes {
		c.Base = part.Base
		c.Changed = append(c.Changed, definitionsIn(part.Records)...)
		c.Removed = append(c.Removed, part.Forgotten...)
	}
	return c
}

func definitionsIn(records []RecordState) []DefinitionRecord {
	out := make([]DefinitionRecord, 0, len(records))
	for _, r := range records {
		out = append(out, DefinitionRecord{Ref: r.Ref, Destroyed: r.Destroyed, Mark: r.Mark})
	}
	return out
}

// definitionState returns the table without logical nodes.
func (t *Table) definitionState() TableState {
	state := TableState{Base: t.base, Complete: t.complete}
	for _, name := range slices.Sorted(maps.Keys(t.records)) {
		state.Records = append(state.Records, t.records[name].definitionState())
	}
	return state
}

// definitionsOf returns the present state of some names as a change without logical nodes.
func (t *Table) definitionsOf(names map[string]bool) TableChange {
	c := TableChange{Base: t.base, Complete: t.complete}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if r := t.records[name]; r != nil {
			c.Records = append(c.Records, r.definitionState())
		} else {
			c.Forgotten = append(c.Forgotten, name)
		}
	}
	return c
}

func (r *record) definitionState() RecordState {
	return RecordState{Ref: r.ref, Destroyed: r.destroyed, Mark: r.mark}
}
