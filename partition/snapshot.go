package partition

import (
	"cmp"
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TableState is a table as exchanged by replicas and printed by status: a deep copy, names and
// nodes ascending.
type TableState struct {
	Base     clustertime.Tick `json:"base"`
	Complete bool             `json:"complete,omitempty"` // it has every name that was ever answered for
	Records  []RecordState    `json:"records"`
}

// RecordState is one name of a table.
type RecordState struct {
	Ref       attachment.Ref `json:"ref"`
	Destroyed bool           `json:"destroyed,omitempty"`
	// Adopted means that it was created again from a claim since the last loss, without another source.
	Adopted bool             `json:"adopted,omitempty"`
	Mark    clustertime.Tick `json:"mark,omitempty"` // destroyed: a new life grants from here
	// Free is the first tick that was not granted, for nodes without a slot.
	Free  clustertime.Tick `json:"free"`
	Slots []SlotState      `json:"slots"` // nodes that were ever attached, ascending
}

// SlotState is one logical node that was ever attached.
type SlotState struct {
	Node sequencer.NodeID `json:"node"`
	ID   attachment.ID    `json:"id"`   // zero: unassigned
	From clustertime.Tick `json:"from"` // assigned: where the attachment's grant begins
	Free clustertime.Tick `json:"free"` // the first tick that was not granted
	// Shown is the end of the node's grant as claimed by a holder from an earlier run of the grid, 0 for none:
	// nothing below it is granted to another holder. It has no other effect, since only that holder vouches for it.
	Shown clustertime.Tick `json:"shown,omitempty"`
}

// Snapshot returns a copy of the whole table.
func (t *Table) Snapshot() TableState {
	state := TableState{Base: t.base, Complete: t.complete}
	for _, name := range slices.Sorted(maps.Keys(t.records)) {
		rs := t.records[name].RecordState
		rs.Slots = slices.Clone(rs.Slots)
		for i := range rs.Slots {
			t.count(&rs.Slots[i])
		}
		state.Records = append(state.Records, rs)
	}
	return state
}

// Restore replaces the table by a snapshot.
func (t *Table) Restore(state TableState) {
	before := *t
	*t = Table{base: state.Base, complete: state.Complete, records: make(map[string]*record, len(state.Records))}
	for _, rs := range state.Records {
		r := &record{RecordState: rs}
		r.Slots = slices.Clone(rs.Slots)
		slices.SortFunc(r.Slots, func(a, b SlotState) int { return cmp.Compare(a.Node, b.Node) })
		t.records[rs.Ref.Definition.Name()] = r
	}
	if before.disk.known && before.complete && t.complete {
		t.disk = before.disk
		t.disk.compare(before.records, t.records)
	}
}

// High returns the first tick that was not granted, on any node of any name, and whether
// every node is unassigned, so that no grant can be used any longer.
func (t *Table) High() (high clustertime.Tick, free bool) {
	high, free = t.base, true
	for _, r := range t.records {
		high = max(high, r.Mark, r.Free)
		for _, s := range r.Slots {
			t.count(&s)
			high = max(high, s.Free)
			free = free && s.ID.IsZero()
		}
	}
	return high, free
}

// Tenants returns every attachment of the table, names and nodes ascending, with
// no holder: a new owner learns holders when they renew.
func (t *Table) Tenants() []Tenant {
	var out []Tenant
	for _, name := range slices.Sorted(maps.Keys(t.records)) {
		out = append(out, t.TenantsOf(name)...)
	}
	return out
}

// TenantsOf returns a name's attachments, nodes ascending.
func (t *Table) TenantsOf(name string) []Tenant {
	r := t.records[name]
	if r == nil {
		return nil
	}
	var out []Tenant
	for _, s := range r.Slots {
		if !s.ID.IsZero() {
			out = append(out, Tenant{ID: s.ID, Name: name, Node: s.Node})
		}
	}
	return out
}

// Kept returns the number of a name's logical nodes reserved at a time for holders with unconfirmed
// grants from an earlier run of the grid.
func (t *Table) Kept(name string, now clustertime.Tick) int {
	if r := t.records[name]; r != nil {
		return r.kept(now)
	}
	return 0
}

// Lives returns up to n lives that have not ended, names ascending.
func (t *Table) Lives(n int) []attachment.Ref {
	return t.LivesThat(n, func(attachment.Ref, int) bool { return true })
}

// LivesThat is Lives restricted to lives for which is returns true. It receives the number of attached logical
// nodes.
func (t *Table) LivesThat(n int, is func(ref attachment.Ref, attached int) bool) []attachment.Ref {
	var out []attachment.Ref
	for _, name := range t.names("", "", n, func(name string, r *record) bool {
		return !r.Destroyed && is(r.Ref, t.Attached(name))
	}) {
		out = append(out, t.records[name].Ref)
	}
	return out
}
