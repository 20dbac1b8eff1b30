package wire

import (
	"unsafe"

	"github.com/snowgrid/snowgrid/sequencer"
)

// packs is a message that appends itself in msgpack.
type packs interface{ Pack(p *Packer) }

// unpacks is a pointer to a message that reads itself.
type unpacks interface{ Unpack(u *Unpacker) }

// DecodeQuick reads a message that has its own decoder into v. If ok is false, v is as before and
// the decoder by reflection has to read it.
func DecodeQuick[T any, P interface {
	*T
	unpacks
}](data []byte, v P) (ok bool) {
	u := Unpacker{rest: data, room: maxGrowth*len(data) + freeGrowth}
	var m T
	P(&m).Unpack(&u)
	if u.bad || len(u.rest) > 0 {
		return false
	}
	*v = m
	return true
}

// quickly calls DecodeQuick for a message that has a decoder.
func quickly(data []byte, v any) (ok bool) {
	switch v := v.(type) {
	case *AttachRequest:
		return DecodeQuick(data, v)
	case *DetachRequest:
		return DecodeQuick(data, v)
	case interface{ DecodeQuickly(data []byte) bool }:
		return v.DecodeQuickly(data)
	}
	return false
}

// SizeOf returns a value's size in memory as a list counts it (shape.go).
func SizeOf[T any]() int {
	var none T
	return int(unsafe.Sizeof(none))
}

// Pack appends the value.
func (s *Sequencer) Pack(p *Packer) {
	p.Fields(5 + Some(!s.Layout.IsZero()))
	p.Name("name")
	p.Text(s.Name)
	p.Name("epoch")
	p.Int(s.Epoch)
	p.Name("nodes")
	p.Int(int64(s.Nodes))
	if !s.Layout.IsZero() {
		p.Name("layout")
		p.Fields(3)
		p.Name("bits")
		p.Int(int64(s.Layout.Bits))
		p.Name("low_bits")
		p.Int(int64(s.Layout.LowBits))
		p.Name("nodes")
		p.Int(int64(s.Layout.Nodes))
	}
	p.Name("life")
	p.ID(s.Life)
	p.Name("born")
	p.Fields(2)
	p.Name("term")
	p.Uint(s.Born.Term)
	p.Name("number")
	p.Uint(s.Born.Number)
}

// Unpack reads the value.
func (s *Sequencer) Unpack(u *Unpacker) {
	left := u.Fields()
	u.Must(&left, "name")
	s.Name = u.Text()
	u.Must(&left, "epoch")
	s.Epoch = u.Int64()
	u.Must(&left, "nodes")
	s.Nodes = u.Int()
	if u.Has(&left, "layout") {
		of := u.Fields()
		u.Must(&of, "bits")
		s.Layout.Bits = u.Int()
		u.Must(&of, "low_bits")
		s.Layout.LowBits = u.Int()
		u.Must(&of, "nodes")
		s.Layout.Nodes = u.Int()
		u.End(of)
	}
	u.Must(&left, "life")
	s.Life = u.ID()
	u.Must(&left, "born")
	of := u.Fields()
	u.Must(&of, "term")
	s.Born.Term = u.Uint64()
	u.Must(&of, "number")
	s.Born.Number = u.Uint64()
	u.End(of)
	u.End(left)
}

// packNode appends a logical node, or nil.
func packNode(p *Packer, n *sequencer.NodeID) {
	if n == nil {
		p.Null()
		return
	}
	p.Uint(uint64(*n))
}

func unpackNode(u *Unpacker) *sequencer.NodeID {
	if u.Null() {
		return nil
	}
	return new(sequencer.NodeID(u.Uint16()))
}
