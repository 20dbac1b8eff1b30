package member

import (
	"unsafe"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// quickSize is the initial buffer size for a request: most fit into it.
const quickSize = 448

// AppendMsgPack appends the request in msgpack.
func (r ReplicateRequest) AppendMsgPack(b []byte) []byte {
	if b == nil {
		b = make([]byte, 0, quickSize)
	}
	p := packer(b)
	r.pack(&p)
	return p
}

// DecodeQuickly reads a request that AppendMsgPack wrote. If it returns false, r is as before and
// the decoder by reflection has to read it.
func (r *ReplicateRequest) DecodeQuickly(data []byte) bool {
	u := unpacker{rest: data, room: wire.MaxMemory(len(data))}
	var in ReplicateRequest
	in.unpack(&u)
	if u.bad || len(u.rest) > 0 {
		return false
	}
	*r = in
	return true
}

// sizeOf returns a value's size in memory.
func sizeOf[T any]() int {
	var none T
	return int(unsafe.Sizeof(none))
}

func (r *ReplicateRequest) pack(p *packer) {
	p.fields(3 + some(r.Pages != 0, r.Page != 0, r.Table != nil, r.Since != 0, len(r.Changes) > 0, r.Keep))
	p.name("partition").uint(uint64(r.Partition))
	p.name("version").uint(uint64(r.Version))
	p.name("position")
	packPosition(p, r.Position)
	if r.Pages != 0 {
		p.name("pages").int(int64(r.Pages))
	}
	if r.Page != 0 {
		p.name("page").int(int64(r.Page))
	}
	if r.Table != nil {
		p.name("table")
		r.Table.packFields(p)
	}
	if r.Since != 0 {
		p.name("since").uint(r.Since)
	}
	if len(r.Changes) > 0 {
		p.name("changes").list(len(r.Changes))
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
	r.Partition = roster.PartitionID(u.must(&left, "partition").uint16())
	r.Version = roster.Version(u.must(&left, "version").uint64())
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
	p.name("base").int(int64(t.Base))
	if t.Complete {
		p.yes("complete")
	}
	if len(t.Records) > 0 {
		p.name("records").list(len(t.Records))
		for i := range t.Records {
			t.Records[i].packFields(p)
		}
	}
	if len(t.Forgotten) > 0 {
		p.name("forgotten").list(len(t.Forgotten))
		for _, name := range t.Forgotten {
			p.text(name)
		}
	}
}

func (t *Table) unpackFields(u *unpacker) {
	left := u.fields()
	t.Base = clustertime.Tick(u.must(&left, "base").int64())
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
			t.Forgotten[i] = u.text()
		}
	}
	u.end(left)
}

func (r *Record) packFields(p *packer) {
	p.fields(2 + some(r.Destroyed, r.Adopted, r.Mark != 0, len(r.Slots) > 0))
	p.name("sequencer")
	packSequencer(p, &r.Sequencer)
	if r.Destroyed {
		p.yes("destroyed")
	}
	if r.Adopted {
		p.yes("adopted")
	}
	if r.Mark != 0 {
		p.name("mark").int(int64(r.Mark))
	}
	p.name("free").int(int64(r.Free))
	if len(r.Slots) > 0 {
		p.name("slots").list(len(r.Slots))
		for i := range r.Slots {
			packSlot(p, &r.Slots[i])
		}
	}
}

func (r *Record) unpackFields(u *unpacker) {
	left := u.fields()
	u.must(&left, "sequencer")
	unpackSequencer(u, &r.Sequencer)
	r.Destroyed = u.yes(&left, "destroyed")
	r.Adopted = u.yes(&left, "adopted")
	if u.has(&left, "mark") {
		r.Mark = clustertime.Tick(u.int64())
	}
	r.Free = clustertime.Tick(u.must(&left, "free").int64())
	if u.has(&left, "slots") {
		r.Slots = make([]partition.SlotState, u.list(sizeOf[partition.SlotState]()))
		for i := range r.Slots {
			unpackSlot(u, &r.Slots[i])
		}
	}
	u.end(left)
}

func packSequencer(p *packer, s *wire.Sequencer) {
	p.fields(5 + some(!s.Layout.IsZero()) + some(!s.NodeRange.IsZero()))
	p.name("name").text(s.Name)
	p.name("epoch").int(s.Epoch)
	p.name("nodes").int(int64(s.Nodes))
	if !s.Layout.IsZero() {
		p.name("layout").fields(3)
		p.name("bits").int(int64(s.Layout.Bits))
		p.name("low_bits").int(int64(s.Layout.LowBits))
		p.name("nodes").int(int64(s.Layout.Nodes))
	}
	if !s.NodeRange.IsZero() {
		p.name("node_range").fields(2)
		p.name("lo").uint(uint64(s.NodeRange.Lo))
		p.name("hi").uint(uint64(s.NodeRange.Hi))
	}
	p.name("life").id(s.Life)
	p.name("born").fields(2)
	p.name("term").uint(s.Born.Term)
	p.name("number").uint(s.Born.Number)
}

func unpackSequencer(u *unpacker, s *wire.Sequencer) {
	left := u.fields()
	s.Name = u.must(&left, "name").text()
	s.Epoch = u.must(&left, "epoch").int64()
	s.Nodes = u.must(&left, "nodes").int()
	if u.has(&left, "layout") {
		of := u.fields()
		s.Layout.Bits = u.must(&of, "bits").int()
		s.Layout.LowBits = u.must(&of, "low_bits").int()
		s.Layout.Nodes = u.must(&of, "nodes").int()
		u.end(of)
	}
	if u.has(&left, "node_range") {
		of := u.fields()
		s.NodeRange.Lo = sequencer.NodeID(u.must(&of, "lo").uint16())
		s.NodeRange.Hi = sequencer.NodeID(u.must(&of, "hi").uint16())
		u.end(of)
	}
	s.Life = u.must(&left, "life").id()
	of := u.must(&left, "born").fields()
	s.Born.Term = u.must(&of, "term").uint64()
	s.Born.Number = u.must(&of, "number").uint64()
	u.end(of)
	u.end(left)
}

func packSlot(p *packer, s *partition.SlotState) {
	p.fields(4 + some(s.Shown != 0))
	p.name("node").uint(uint64(s.Node))
	p.name("id").id(s.ID)
	p.name("from").int(int64(s.From))
	p.name("free").int(int64(s.Free))
	if s.Shown != 0 {
		p.name("shown").int(int64(s.Shown))
	}
}

func unpackSlot(u *unpacker, s *partition.SlotState) {
	left := u.fields()
	s.Node = sequencer.NodeID(u.must(&left, "node").uint16())
	s.ID = u.must(&left, "id").id()
	s.From = clustertime.Tick(u.must(&left, "from").int64())
	s.Free = clustertime.Tick(u.must(&left, "free").int64())
	if u.has(&left, "shown") {
		s.Shown = clustertime.Tick(u.int64())
	}
	u.end(left)
}

func packPosition(p *packer, at backup.Position) {
	p.fields(2)
	p.name("term").uint(uint64(at.Term))
	p.name("number").uint(at.Number)
}

func unpackPosition(u *unpacker) (at backup.Position) {
	left := u.fields()
	at.Term = roster.Term(u.must(&left, "term").uint64())
	at.Number = u.must(&left, "number").uint64()
	u.end(left)
	return at
}
