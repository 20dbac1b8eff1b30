package partition

import (
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// NamesThat returns the first n names above after that begin with prefix, have a life, and for which may returns true,
// ascending.
func (t *Table) NamesThat(may func(name string) bool, prefix, after string, n int) []string {
	return t.names(prefix, after, n, func(name string, r *record) bool { return !r.Destroyed && may(name) })
}

// EndedThat is NamesThat for the names that [Table.Ended] returns.
func (t *Table) EndedThat(may func(name string) bool, prefix, after string, n int) []string {
	return t.names(prefix, after, n, func(name string, r *record) bool { return r.hadIDs() && may(name) })
}

func (t *Table) names(prefix, after string, n int, is func(name string, r *record) bool) []string {
	var out []string
	for name, r := range t.records {
		if name > after && strings.HasPrefix(name, prefix) && is(name, r) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Clip(out[:min(len(out), n)])
}

// Ended returns the last life of a destroyed name that may have issued IDs, while the table has its tombstone.
// Until then [Table.Create] compares new definitions with this one.
func (t *Table) Ended(name string) (attachment.Ref, bool) {
	if r := t.records[name]; r != nil && r.hadIDs() {
		return r.Ref, true
	}
	return attachment.Ref{}, false
}

// hadIDs reports whether the record is a tombstone of lives to which ticks were granted.
func (r *record) hadIDs() bool { return r.Destroyed && attachment.HadIDs(r.Ref.Definition, r.Mark) }

// Attached returns the number of a name's attached logical nodes.
func (t *Table) Attached(name string) (attached int) {
	if r := t.records[name]; r != nil {
		for i := range r.Slots {
			if !r.Slots[i].ID.IsZero() {
				attached++
			}
		}
	}
	return attached
}

// Attached is a logical node that is attached, and its holder.
type Attached struct {
	Node   sequencer.NodeID
	Holder attachment.HolderID // "" = its holder has not presented it at this owner yet
	Ago    time.Duration       // since it was last presented, or since this member became the owner
}

// Holders returns the attached logical nodes of a name, ascending, and the definition.
//
// Errors: sequencer.ErrNotFound, roster.ErrWrongOwner.
func (m *Machine) Holders(v View, name string) (attachment.Ref, []Attached, error) {
	if _, err := m.act(v); err != nil {
		return attachment.Ref{}, nil, err
	}
	ref, err := m.table.Open(name)
	if err != nil {
		return attachment.Ref{}, nil, err
	}
	known := m.sessions.shownBy(name)
	var out []Attached
	for _, t := range m.table.TenantsOf(name) {
		a := Attached{Node: t.Node}
		if s, found := known[t.ID]; found {
			a.Holder, a.Ago = s.of.holder, v.Mono-s.last()
		}
		out = append(out, a)
	}
	return ref, out, nil
}

// shownBy returns the attachments of a name as their holders showed them.
func (s *Sessions) shownBy(name string) map[attachment.ID]shown {
	out := map[attachment.ID]shown{}
	for _, t := range s.names[name] {
		if !t.id.IsZero() {
			out[t.id] = t
		}
	}
	return out
}
