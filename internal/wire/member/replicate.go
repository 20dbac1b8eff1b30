// Package member defines the messages between members that carry a partition's table: replication,
// positions on disk, and definitions from disks. They stand apart from package wire because they
// convert tables of packages partition and backup, which a thin client does not link.
package member

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// ReplicateRequest brings a replica to an owner's position: by one page of the
// whole table, or by the changes after a number of the same term.
type ReplicateRequest struct {
	Partition roster.PartitionID `json:"partition"`
	Version   roster.Version     `json:"version"` // at which the owner acts
	Position  backup.Position    `json:"position"`
	Pages     int                `json:"pages,omitempty"` // of the whole table; 0: changes
	Page      int                `json:"page,omitempty"`  // which one this is, from 0
	Table     *Table             `json:"table,omitempty"` // the page
	Since     uint64             `json:"since,omitempty"`
	Changes   []Table            `json:"changes,omitempty"`
	// Keep means that the update has only definitions, to be kept in memory.
	Keep bool `json:"keep,omitempty"`
}

// ReplicateResponse has the replica's position. With Gap it needs the whole table first, from page 0;
// with NotYet its roster does not include the term yet, and it applied nothing.
type ReplicateResponse struct {
	Held   backup.Position `json:"held"`
	Stored backup.Position `json:"stored"` // on its disk; zero: none of this term
	Newest roster.Term     `json:"newest"` // the replica's newest term
	Gap    bool            `json:"gap,omitempty"`
	NotYet bool            `json:"not_yet,omitempty"`
}

// Table is a page of a table, or the changes by operations.
type Table struct {
	Base      clustertime.Tick `json:"base"`
	Complete  bool             `json:"complete,omitempty"` // it has every name that was ever answered for
	Records   []Record         `json:"records,omitempty"`
	Forgotten []string         `json:"forgotten,omitempty"` // only of a change
}

// Record is one name of a table.
type Record struct {
	Sequencer wire.Sequencer        `json:"sequencer"`
	Destroyed bool                  `json:"destroyed,omitempty"`
	Adopted   bool                  `json:"adopted,omitempty"`
	Mark      clustertime.Tick      `json:"mark,omitempty"`
	Free      clustertime.Tick      `json:"free"`
	Slots     []partition.SlotState `json:"slots,omitempty"`
}

// Bounds of one ReplicateRequest.
const (
	// pageWeight bounds a page in bytes, by estimate; a record that is larger has
	// a page of its own, and no record is larger than a body.
	pageWeight   = 256 << 10
	recordWeight = 200
	slotWeight   = 80
	// MaxChanges limits the changes in one request.
	MaxChanges = 256
)

// PagesOf cuts a table into pages, at least one. They share its records.
func PagesOf(state partition.TableState) []partition.TableState {
	var pages []partition.TableState
	first, weight := 0, 0
	for i, r := range state.Records {
		w := weightOf(len(r.Ref.Definition.Name()), len(r.Slots))
		if weight > 0 && weight+w > pageWeight {
			pages = append(pages, partition.TableState{Base: state.Base, Complete: state.Complete,
				Records: state.Records[first:i]})
			first, weight = i, 0
		}
		weight += w
	}
	return append(pages, partition.TableState{Base: state.Base, Complete: state.Complete, Records: state.Records[first:]})
}

func weightOf(name, slots int) int { return recordWeight + name + slotWeight*slots }

// Weight is about how many bytes of memory a request takes.
func (r ReplicateRequest) Weight() int {
	sum := recordWeight
	for _, c := range r.Changes {
		sum += c.weight()
	}
	if r.Table != nil {
		sum += r.Table.weight()
	}
	return sum
}

func (t Table) weight() int {
	sum := recordWeight
	for _, r := range t.Records {
		sum += weightOf(len(r.Sequencer.Name), len(r.Slots))
	}
	for _, name := range t.Forgotten {
		sum += weightOf(len(name), 0)
	}
	return sum
}

// TableOf converts a page to its form on the wire.
func TableOf(page partition.TableState) Table {
	out := Table{Base: page.Base, Complete: page.Complete}
	for _, r := range page.Records {
		out.Records = append(out.Records, recordOf(r))
	}
	return out
}

// ChangesOf returns the changes' wire form.
func ChangesOf(changes []partition.TableChange) []Table {
	out := make([]Table, len(changes))
	for i, c := range changes {
		out[i] = Table{Base: c.Base, Complete: c.Complete, Forgotten: c.Forgotten}
		for _, r := range c.Records {
			out[i].Records = append(out[i].Records, recordOf(r))
		}
	}
	return out
}

func recordOf(r partition.RecordState) Record {
	return Record{Sequencer: wire.SequencerOf(r.Ref), Destroyed: r.Destroyed, Adopted: r.Adopted, Mark: r.Mark,
		Free: r.Free, Slots: r.Slots}
}

// State checks a page and returns it. Errors match wire.ErrBadRequest, or sequencer.ErrInvalidConfig
// for a definition that no sequencer can have.
func (t Table) State() (partition.TableState, error) {
	if len(t.Forgotten) > 0 {
		return partition.TableState{}, failure.Errorf(wire.ErrBadRequest, "grid: a whole table lists forgotten lives")
	}
	c, err := t.Change()
	return partition.TableState{Base: c.Base, Complete: c.Complete, Records: c.Records}, err
}

// Change checks a change and returns it. Errors match wire.ErrBadRequest, or sequencer.ErrInvalidConfig
// for a definition that no sequencer can have.
func (t Table) Change() (partition.TableChange, error) {
	out := partition.TableChange{Base: t.Base, Complete: t.Complete, Forgotten: t.Forgotten}
	if t.Base < 0 {
		return out, failure.Errorf(wire.ErrBadRequest, "grid: base %d is negative", t.Base)
	}
	for _, r := range t.Records {
		state, err := r.state()
		if err != nil {
			return out, err
		}
		out.Records = append(out.Records, state)
	}
	return out, nil
}

func (r Record) state() (partition.RecordState, error) {
	ref, err := r.Sequencer.Ref()
	if err != nil {
		return partition.RecordState{}, err
	}
	for i, s := range r.Slots {
		switch {
		case !ref.HasNode(s.Node):
			return partition.RecordState{}, failure.Errorf(wire.ErrBadRequest, "grid: logical node %d of %v does not exist",
				s.Node, ref.Definition)
		case i > 0 && r.Slots[i-1].Node >= s.Node:
			return partition.RecordState{}, failure.Errorf(wire.ErrBadRequest, "grid: logical node %d of %v is out of order",
				s.Node, ref.Definition)
		case s.From < 0 || s.Free < 0 || s.Shown < 0:
			return partition.RecordState{}, failure.Errorf(wire.ErrBadRequest, "grid: logical node %d of %v has a negative time",
				s.Node, ref.Definition)
		}
	}
	if r.Mark < 0 || r.Free < 0 {
		return partition.RecordState{}, failure.Errorf(wire.ErrBadRequest, "grid: %v has a negative time", ref.Definition)
	}
	return partition.RecordState{Ref: ref, Destroyed: r.Destroyed, Adopted: r.Adopted, Mark: r.Mark, Free: r.Free,
		Slots: r.Slots}, nil
}
