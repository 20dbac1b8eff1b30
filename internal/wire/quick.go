package wire

import (
	"unsafe"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// packs is a message that appends itself in msgpack.
type packs interface{ pack(p *packer) }

// unpacks is a pointer to a message that reads itself.
type unpacks interface{ unpack(u *unpacker) }

// decodeQuick reads a message that has a decoder of its own into v. If ok is false, v is as
// before and the decoder by reflection has to read it.
func decodeQuick[T any, P interface {
	*T
	unpacks
}](data []byte, v P) (ok bool) {
	u := unpacker{rest: data, room: maxGrowth*len(data) + freeGrowth}
	var m T
	P(&m).unpack(&u)
	if u.bad || len(u.rest) > 0 {
		return false
	}
	*v = m
	return true
}

// quickly has decodeQuick read a message of the types that have a decoder.
func quickly(data []byte, v any) (ok bool) {
	switch v := v.(type) {
	case *AttachRequest:
		return decodeQuick(data, v)
	case *AttachResponse:
		return decodeQuick(data, v)
	case *DetachRequest:
		return decodeQuick(data, v)
	case *Done:
		return decodeQuick(data, v)
	case *ReplicateRequest:
		return decodeQuick(data, v)
	case *ReplicateResponse:
		return decodeQuick(data, v)
	}
	return false
}

// sizeOf returns the size of a value in memory as a list counts it (shape.go).
func sizeOf[T any]() int {
	var none T
	return int(unsafe.Sizeof(none))
}

func (s *Sequencer) pack(p *packer) {
	p.fields(5 + some(!s.Layout.IsZero()))
	p.name("name")
	p.string(s.Name)
	p.name("epoch")
	p.int(s.Epoch)
	p.name("nodes")
	p.int(int64(s.Nodes))
	if !s.Layout.IsZero() {
		p.name("layout")
		p.fields(3)
		p.name("bits")
		p.int(int64(s.Layout.Bits))
		p.name("low_bits")
		p.int(int64(s.Layout.LowBits))
		p.name("nodes")
		p.int(int64(s.Layout.Nodes))
	}
	p.name("life")
	p.id(s.Life)
	p.name("born")
	p.fields(2)
	p.name("term")
	p.uint(s.Born.Term)
	p.name("number")
	p.uint(s.Born.Number)
}

func (s *Sequencer) unpack(u *unpacker) {
	left := u.fields()
	u.must(&left, "name")
	s.Name = u.string()
	u.must(&left, "epoch")
	s.Epoch = u.int64()
	u.must(&left, "nodes")
	s.Nodes = u.int()
	if u.has(&left, "layout") {
		of := u.fields()
		u.must(&of, "bits")
		s.Layout.Bits = u.int()
		u.must(&of, "low_bits")
		s.Layout.LowBits = u.int()
		u.must(&of, "nodes")
		s.Layout.Nodes = u.int()
		u.end(of)
	}
	u.must(&left, "life")
	s.Life = u.id()
	u.must(&left, "born")
	of := u.fields()
	u.must(&of, "term")
	s.Born.Term = u.uint64()
	u.must(&of, "number")
	s.Born.Number = u.uint64()
	u.end(of)
	u.end(left)
}

// pack appends the fields of a stamp: it is part of other messages.
func (s *Stamp) packFields(p *packer) {
	p.name("grid")
	p.id(s.Grid)
	p.name("version")
	p.uint(uint64(s.Version))
	p.name("time")
	p.int(int64(s.Time))
}

func (s *Stamp) unpackFields(u *unpacker, left *int) {
	u.must(left, "grid")
	s.Grid = u.id()
	u.must(left, "version")
	s.Version = roster.Version(u.uint64())
	u.must(left, "time")
	s.Time = clustertime.Tick(u.int64())
}

func (d Done) pack(p *packer) {
	p.fields(3)
	d.packFields(p)
}

func (d *Done) unpack(u *unpacker) {
	left := u.fields()
	d.unpackFields(u, &left)
	u.end(left)
}

func packPosition(p *packer, at backup.Position) {
	p.fields(2)
	p.name("term")
	p.uint(uint64(at.Term))
	p.name("number")
	p.uint(at.Number)
}

func unpackPosition(u *unpacker) (at backup.Position) {
	left := u.fields()
	u.must(&left, "term")
	at.Term = roster.Term(u.uint64())
	u.must(&left, "number")
	at.Number = u.uint64()
	u.end(left)
	return at
}

// packNode appends a logical node, or nil.
func packNode(p *packer, n *sequencer.NodeID) {
	if n == nil {
		p.null()
		return
	}
	p.uint(uint64(*n))
}

func unpackNode(u *unpacker) *sequencer.NodeID {
	if u.null() {
		return nil
	}
	return new(sequencer.NodeID(u.uint16()))
}
