package member

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Pack appends the value.
func (r ReplicateRequest) Pack(p *wire.Packer) {
	p.Fields(3 + wire.Some(r.Pages != 0, r.Page != 0, r.Table != nil, r.Since != 0, len(r.Changes) > 0, r.Keep))
	p.Name("partition")
	p.Uint(uint64(r.Partition))
	p.Name("version")
	p.Uint(uint64(r.Version))
	p.Name("position")
	packPosition(p, r.Position)
	if r.Pages != 0 {
		p.Name("pages")
		p.Int(int64(r.Pages))
	}
	if r.Page != 0 {
		p.Name("page")
		p.Int(int64(r.Page))
	}
	if r.Table != nil {
		p.Name("table")
		r.Table.packFields(p)
	}
	if r.Since != 0 {
		p.Name("since")
		p.Uint(r.Since)
	}
	if len(r.Changes) > 0 {
		p.Name("changes")
		p.List(len(r.Changes))
		for i := range r.Changes {
			r.Changes[i].packFields(p)
		}
	}
	if r.Keep {
		p.Yes("keep")
	}
}

// Unpack reads the value.
func (r *ReplicateRequest) Unpack(u *wire.Unpacker) {
	left := u.Fields()
	u.Must(&left, "partition")
	r.Partition = roster.PartitionID(u.Uint16())
	u.Must(&left, "version")
	r.Version = roster.Version(u.Uint64())
	u.Must(&left, "position")
	r.Position = unpackPosition(u)
	if u.Has(&left, "pages") {
		r.Pages = u.Int()
	}
	if u.Has(&left, "page") {
		r.Page = u.Int()
	}
	if u.Has(&left, "table") {
		r.Table = &Table{}
		r.Table.unpackFields(u)
	}
	if u.Has(&left, "since") {
		r.Since = u.Uint64()
	}
	if u.Has(&left, "changes") {
		r.Changes = make([]Table, u.List(wire.SizeOf[Table]()))
		for i := range r.Changes {
			r.Changes[i].unpackFields(u)
		}
	}
	r.Keep = u.Yes(&left, "keep")
	u.End(left)
}

func (t *Table) packFields(p *wire.Packer) {
	p.Fields(1 + wire.Some(t.Complete, len(t.Records) > 0, len(t.Forgotten) > 0))
	p.Name("base")
	p.Int(int64(t.Base))
	if t.Complete {
		p.Yes("complete")
	}
	if len(t.Records) > 0 {
		p.Name("records")
		p.List(len(t.Records))
		for i := range t.Records {
			t.Records[i].packFields(p)
		}
	}
	if len(t.Forgotten) > 0 {
		p.Name("forgotten")
		p.List(len(t.Forgotten))
		for _, name := range t.Forgotten {
			p.Text(name)
		}
	}
}

func (t *Table) unpackFields(u *wire.Unpacker) {
	left := u.Fields()
	u.Must(&left, "base")
	t.Base = clustertime.Tick(u.Int64())
	t.Complete = u.Yes(&left, "complete")
	if u.Has(&left, "records") {
		t.Records = make([]Record, u.List(wire.SizeOf[Record]()))
		for i := range t.Records {
			t.Records[i].unpackFields(u)
		}
	}
	if u.Has(&left, "forgotten") {
		t.Forgotten = make([]string, u.List(wire.SizeOf[string]()))
		for i := range t.Forgotten {
			t.Forgotten[i] = u.Text()
		}
	}
	u.End(left)
}

func (r *Record) packFields(p *wire.Packer) {
	p.Fields(2 + wire.Some(r.Destroyed, r.Adopted, r.Mark != 0, len(r.Slots) > 0))
	p.Name("sequencer")
	r.Sequencer.Pack(p)
	if r.Destroyed {
		p.Yes("destroyed")
	}
	if r.Adopted {
		p.Yes("adopted")
	}
	if r.Mark != 0 {
		p.Name("mark")
		p.Int(int64(r.Mark))
	}
	p.Name("free")
	p.Int(int64(r.Free))
	if len(r.Slots) > 0 {
		p.Name("slots")
		p.List(len(r.Slots))
		for i := range r.Slots {
			packSlot(p, &r.Slots[i])
		}
	}
}

func (r *Record) unpackFields(u *wire.Unpacker) {
	left := u.Fields()
	u.Must(&left, "sequencer")
	r.Sequencer.Unpack(u)
	r.Destroyed = u.Yes(&left, "destroyed")
	r.Adopted = u.Yes(&left, "adopted")
	if u.Has(&left, "mark") {
		r.Mark = clustertime.Tick(u.Int64())
	}
	u.Must(&left, "free")
	r.Free = clustertime.Tick(u.Int64())
	if u.Has(&left, "slots") {
		r.Slots = make([]partition.SlotState, u.List(wire.SizeOf[partition.SlotState]()))
		for i := range r.Slots {
			unpackSlot(u, &r.Slots[i])
		}
	}
	u.End(left)
}

func packSlot(p *wire.Packer, s *partition.SlotState) {
	p.Fields(4 + wire.Some(s.Shown != 0))
	p.Name("node")
	p.Uint(uint64(s.Node))
	p.Name("id")
	p.ID(s.ID)
	p.Name("from")
	p.Int(int64(s.From))
	p.Name("free")
	p.Int(int64(s.Free))
	if s.Shown != 0 {
		p.Name("shown")
		p.Int(int64(s.Shown))
	}
}

func unpackSlot(u *wire.Unpacker, s *partition.SlotState) {
	left := u.Fields()
	u.Must(&left, "node")
	s.Node = sequencer.NodeID(u.Uint16())
	u.Must(&left, "id")
	s.ID = u.ID()
	u.Must(&left, "from")
	s.From = clustertime.Tick(u.Int64())
	u.Must(&left, "free")
	s.Free = clustertime.Tick(u.Int64())
	if u.Has(&left, "shown") {
		s.Shown = clustertime.Tick(u.Int64())
	}
	u.End(left)
}

func packPosition(p *wire.Packer, at backup.Position) {
	p.Fields(2)
	p.Name("term")
	p.Uint(uint64(at.Term))
	p.Name("number")
	p.Uint(at.Number)
}

func unpackPosition(u *wire.Unpacker) (at backup.Position) {
	left := u.Fields()
	u.Must(&left, "term")
	at.Term = roster.Term(u.Uint64())
	u.Must(&left, "number")
	at.Number = u.Uint64()
	u.End(left)
	return at
}

// DecodeQuickly reads a message that [wire.Packer] wrote; false leaves r as it was.
func (r *ReplicateRequest) DecodeQuickly(data []byte) bool { return wire.DecodeQuick(data, r) }
