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
	k := m.keepers.kept
	d := Definitions{Base: k.base}
	for _, name := range slices.Sorted(maps.Keys(k.records)) {
		d.Records = append(d.Records, k.records[name])
	}
	return d, k.position
}

// keepers keeps definitions in this process's memory, and as the owner in other members' memory.
type keepers struct {
	replica *tableReplica
	table   *Table
	kept    kept                            // definitions in this process's memory
	keeping map[roster.Incarnation]*keeping // keepers that are no replicas
	others  []roster.Incarnation            // those keepers, by the newest roster
}

// keep stores the definitions of this replica's table in memory, if they are needed there: only for
// a complete table with the newest known term (D1). It reports whether it did.
func (k *keepers) keep() bool {
	if !k.table.Complete() || !k.replica.IsKeeper() && !k.replica.Acts() {
		return false
	}
	p, useful := k.replica.Storable()
	if !useful {
		return false
	}
	c := DefinitionChange{Base: k.kept.base}
	if k.table.Unstored() {
		c = k.table.TakeUnstored()
	}
	k.kept.apply(p, c)
	k.replica.Stored(p)
	for _, other := range k.keeping {
		other.note(c)
	}
	return true
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

// observe records the members that keep definitions, by the newest roster, and are
// neither this one nor a replica to which its owner sends the table.
func (k *keepers) observe(p roster.Partition) {
	k.others = nil
	if s := k.replica.Storage(); s.Memory {
		k.others = slices.DeleteFunc(slices.Clone(s.Needed), func(i roster.Incarnation) bool {
			return i == k.replica.Self() || i == p.Joining || slices.Contains(p.InSync, i)
		})
	}
	// Definitions that no owner needs are dropped. Within a term they stay, because its owner counts on them.
	named := slices.Contains(k.replica.Disks(0).Named, k.replica.Self().Member())
	if p := k.kept.position; p.Term > 0 && p.Term < k.replica.Newest() && !named && !k.replica.IsKeeper() {
		k.kept = kept{}
		k.table.ForgetStored()
	}
}

// members returns the members to which an owner sends definitions alone; read only.
func (k *keepers) members() []roster.Incarnation {
	if !k.replica.Acts() {
		return nil
	}
	return k.others
}

// send sends each keeper the definitions that it lacks, or a read barrier. A keeper that
// lacks none has stored the table, since none of its definitions have changed.
func (k *keepers) send(d *deliveries) {
	if !k.table.Complete() {
		return
	}
	for _, to := range k.members() {
		s, other := d.to(to), k.keeping[to]
		if s.busy {
			continue
		}
		if other == nil {
			other = &keeping{changed: map[string]bool{}}
			k.keeping[to] = other
		}
		if other.known && len(other.changed) == 0 {
			k.replica.StoredBy(to, k.replica.Position())
			if s.answered >= d.keepersAsked {
				continue
			}
		}
		d.send(s, to, k.update(other))
	}
}

// update returns an update for a keeper, and counts its names as sent.
func (k *keepers) update(to *keeping) Update {
	u := Update{Version: k.replica.Version(), Position: k.replica.Position(), Keep: true}
	if to.known {
		c := k.table.definitionsOf(to.changed)
		u.Since, u.Changes = to.number, []TableChange{c}
		to.sending = to.changed
	} else {
		u.Whole = &TableState{Base: k.table.base, Complete: k.table.complete}
		for _, name := range slices.Sorted(maps.Keys(k.table.records)) {
			u.Whole.Records = append(u.Whole.Records, k.table.records[name].definitionState())
		}
	}
	to.changed = map[string]bool{}
	return u
}

// heard processes a keeper's answer to definitions.
func (k *keepers) heard(s *sender, d Delivery, h Holds, err error) {
	other := k.keeping[d.To]
	if other == nil {
		other = &keeping{changed: map[string]bool{}} // from an earlier term
	}
	switch {
	case err != nil:
		s.pause = min(2*s.pause, lastPause)
	case h.NotYet, !confirms(k.replica, max(h.Newest, h.Stored.Term)):
	default:
		s.pause = firstPause
		if !h.Gap {
			s.answered = max(s.answered, d.Question)
		}
		k.replica.Heard(h.Newest)
		k.replica.StoredBy(d.To, h.Stored)
		other.number = d.Update.Position.Number
		other.known = !h.Gap && d.Update.Position.Term == k.replica.Position().Term &&
			h.Stored.Compare(d.Update.Position) >= 0
		if other.known {
			other.sending = nil
		}
	}
	maps.Copy(other.changed, other.sending) // it may lack them still
	other.sending = nil
	if !slices.Contains(k.members(), d.To) {
		delete(k.keeping, d.To)
	}
}

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
		out = append(out, r.definition())
	}
	return out
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
	return RecordState{Ref: r.Ref, Destroyed: r.Destroyed, Mark: r.Mark}
}
