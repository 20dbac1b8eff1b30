package wire

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

func (r ReplicateRequest) pack(p *packer) {
	p.fields(3 + some(r.Pages != 0, r.Page != 0, r.Table != nil, r.Since != 0, len(r.Changes) > 0, r.Keep))
	p.name("partition")
	p.uint(uint64(r.Partition))
	p.name("version")
	p.uint(uint64(r.Version))
	p.name("position")
	packPosition(p, r.Position)
	if r.Pages != 0 {
		p.name("pages")
		p.int(int64(r.Pages))
	}
	if r.Page != 0 {
		p.name("page")
		p.int(int64(r.Page))
	}
	if r.Table != nil {
		p.name("table")
		r.Table.packFields(p)
	}
	if r.Since != 0 {
		p.name("since")
		p.uint(r.Since)
	}
	if len(r.Changes) > 0 {
		p.name("changes")
		p.list(len(r.Changes))
		for i := range r.Changes {
			r.Changes[i].packFields(p)
		}
	}
	if r.Keep {
		p.yes("keep")
	}
}

func (r *ReplicateRequest) unpack(u *unpacker) {
	left := u.fields()
	u.must(&left, "partition")
	r.Partition = roster.PartitionID(u.uint16())
	u.must(&left, "version")
	r.Version = roster.Version(u.uint64())
	u.must(&left, "position")
	r.Position = unpackPosition(u)
	if u.has(&left, "pages") {
		r.Pages = u.int()
	}
	if u.has(&left, "page") {
		r.Page = u.int()
	}
	if u.has(&left, "table") {
		r.Table = &Table{}
		r.Table.unpackFields(u)
	}
	if u.has(&left, "since") {
		r.Since = u.uint64()
	}
	if u.has(&left, "changes") {
		r.Changes = make([]Table, u.list(sizeOf[Table]()))
		for i := range r.Changes {
			r.Changes[i].unpackFields(u)
		}
	}
	r.Keep = u.yes(&left, "keep")
	u.end(left)
}

func (t *Table) packFields(p *packer) {
	p.fields(1 + some(t.Complete, len(t.Records) > 0, len(t.Forgotten) > 0))
	p.name("base")
	p.int(int64(t.Base))
	if t.Complete {
		p.yes("complete")
	}
	if len(t.Records) > 0 {
		p.name("records")
		p.list(len(t.Records))
		for i := range t.Records {
			t.Records[i].packFields(p)
		}
	}
	if len(t.Forgotten) > 0 {
		p.name("forgotten")
		p.list(len(t.Forgotten))
		for _, name := range t.Forgotten {
			p.string(name)
		}
	}
}

func (t *Table) unpackFields(u *unpacker) {
	left := u.fields()
	u.must(&left, "base")
	t.Base = clustertime.Tick(u.int64())
	t.Complete = u.yes(&left, "complete")
	if u.has(&left, "records") {
		t.Records = make([]Record, u.list(sizeOf[Record]()))
		for i := range t.Records {
			t.Records[i].unpackFields(u)
		}
	}
	if u.has(&left, "forgotten") {
		t.Forgotten = make([]string, u.list(sizeOf[string]()))
		for i := range t.Forgotten {
			t.Forgotten[i] = u.string()
		}
	}
	u.end(left)
}

func (r *Record) packFields(p *packer) {
	p.fields(2 + some(r.Destroyed, r.Adopted, r.Mark != 0, len(r.Slots) > 0))
	p.name("sequencer")
	r.Sequencer.pack(p)
	if r.Destroyed {
		p.yes("destroyed")
	}
	if r.Adopted {
		p.yes("adopted")
	}
	if r.Mark != 0 {
		p.name("mark")
		p.int(int64(r.Mark))
	}
	p.name("free")
	p.int(int64(r.Free))
	if len(r.Slots) > 0 {
		p.name("slots")
		p.list(len(r.Slots))
		for i := range r.Slots {
			packSlot(p, &r.Slots[i])
		}
	}
}

func (r *Record) unpackFields(u *unpacker) {
	left := u.fields()
	u.must(&left, "sequencer")
	r.Sequencer.unpack(u)
	r.Destroyed = u.yes(&left, "destroyed")
	r.Adopted = u.yes(&left, "adopted")
	if u.has(&left, "mark") {
		r.Mark = clustertime.Tick(u.int64())
	}
	u.must(&left, "free")
	r.Free = clustertime.Tick(u.int64())
	if u.has(&left, "slots") {
		r.Slots = make([]partition.SlotState, u.list(sizeOf[partition.SlotState]()))
		for i := range r.Slots {
			unpackSlot(u, &r.Slots[i])
		}
	}
	u.end(left)
}

func packSlot(p *packer, s *partition.SlotState) {
	p.fields(4 + some(s.Shown != 0))
	p.name("node")
	p.uint(uint64(s.Node))
	p.name("id")
	p.id(s.ID)
	p.name("from")
	p.int(int64(s.From))
	p.name("free")
	p.int(int64(s.Free))
	if s.Shown != 0 {
		p.name("shown")
		p.int(int64(s.Shown))
	}
}

func unpackSlot(u *unpacker, s *partition.SlotState) {
	left := u.fields()
	u.must(&left, "node")
	s.Node = sequencer.NodeID(u.uint16())
	u.must(&left, "id")
	s.ID = u.id()
	u.must(&left, "from")
	s.From = clustertime.Tick(u.int64())
	u.must(&left, "free")
	s.Free = clustertime.Tick(u.int64())
	if u.has(&left, "shown") {
		s.Shown = clustertime.Tick(u.int64())
	}
	u.end(left)
}

func (r ReplicateResponse) pack(p *packer) {
	p.fields(3 + some(r.Gap, r.NotYet))
	p.name("held")
	packPosition(p, r.Held)
	p.name("stored")
	packPosition(p, r.Stored)
	p.name("newest")
	p.uint(uint64(r.Newest))
	if r.Gap {
		p.yes("gap")
	}
	if r.NotYet {
		p.yes("not_yet")
	}
}

func (r *ReplicateResponse) unpack(u *unpacker) {
	left := u.fields()
	u.must(&left, "held")
	r.Held = unpackPosition(u)
	u.must(&left, "stored")
	r.Stored = unpackPosition(u)
	u.must(&left, "newest")
	r.Newest = roster.Term(u.uint64())
	r.Gap = u.yes(&left, "gap")
	r.NotYet = u.yes(&left, "not_yet")
	u.end(left)
}
