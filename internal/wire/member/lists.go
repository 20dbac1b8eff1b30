package member

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// List implements [wire.Listing].
func (r *ReplicateRequest) List(f *wire.Fields) {
	wire.Number(f, "partition", &r.Partition)
	wire.Number(f, "version", &r.Version)
	listPosition(f, "position", &r.Position)
	wire.NonZero(f, "pages", &r.Pages)
	wire.NonZero(f, "page", &r.Page)
	wire.Pointer(f, "table", &r.Table)
	wire.NonZero(f, "since", &r.Since)
	wire.List(f, "changes", &r.Changes, func(f *wire.Fields, t *Table) { t.List(f) })
	f.Flag("keep", &r.Keep)
}

// List implements [wire.Listing].
func (r *ReplicateResponse) List(f *wire.Fields) {
	listPosition(f, "held", &r.Held)
	listPosition(f, "stored", &r.Stored)
	wire.Number(f, "newest", &r.Newest)
	f.Flag("gap", &r.Gap)
	f.Flag("not_yet", &r.NotYet)
}

// List implements [wire.Listing].
func (t *Table) List(f *wire.Fields) {
	wire.Number(f, "base", &t.Base)
	f.Flag("complete", &t.Complete)
	wire.List(f, "records", &t.Records, listRecord)
	wire.Texts(f, "forgotten", &t.Forgotten)
}

func listRecord(f *wire.Fields, r *Record) {
	f.Struct("sequencer", r.Sequencer.List)
	f.Flag("destroyed", &r.Destroyed)
	f.Flag("adopted", &r.Adopted)
	wire.NonZero(f, "mark", &r.Mark)
	wire.Number(f, "free", &r.Free)
	wire.List(f, "slots", &r.Slots, listSlot)
}

func listSlot(f *wire.Fields, s *partition.SlotState) {
	wire.Number(f, "node", &s.Node)
	wire.Hex(f, "id", &s.ID)
	wire.Number(f, "from", &s.From)
	wire.Number(f, "free", &s.Free)
	wire.NonZero(f, "shown", &s.Shown)
}

func listPosition(f *wire.Fields, name string, p *backup.Position) {
	f.Struct(name, func(f *wire.Fields) {
		wire.Number(f, "term", &p.Term)
		wire.Number(f, "number", &p.Number)
	})
}
