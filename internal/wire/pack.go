package wire

import "encoding/hex"

// The requests to attach, detach and replicate have their own encoders and decoders: msgpack by
// reflection takes more time than the rest of a member's work for them.
//
// The bytes are identical to the reflection encoder's. The decoders accept only these bytes: at
// anything else (fields in another order, from a later release, a negative number) they give up, and
// the reflection decoder decides. So they accept nothing that it refuses, which TestQuickAgrees and
// FuzzQuick check.

// Msgpack codes.
const (
	packMap    = 0x80
	packArray  = 0x90
	packString = 0xa0
	packNil    = 0xc0
	packTrue   = 0xc3
	packBin8   = 0xc4
	packUint8  = 0xcc
	packInt8   = 0xd0
	packStr8   = 0xd9
	packList16 = 0xdc
	packMap16  = 0xde

	hexSize = 32 // bytes in the text of a 16-byte ID
)

// Packer appends values in msgpack, each in its shortest form.
type Packer []byte

// Fields begins a struct with n fields.
func (p *Packer) Fields(n int) { *p = append(*p, packMap|byte(n)) }

// Name appends a field's name, which is short.
func (p *Packer) Name(s string) { *p = append(append(*p, packString|byte(len(s))), s...) }

// Uint appends a number that is not negative.
func (p *Packer) Uint(n uint64) {
	switch {
	case n < 1<<7:
		*p = append(*p, byte(n))
	case n < 1<<8:
		*p = append(*p, packUint8, byte(n))
	case n < 1<<16:
		*p = bigEndian(append(*p, packUint8+1), n, 2)
	case n < 1<<32:
		*p = bigEndian(append(*p, packUint8+2), n, 4)
	default:
		*p = bigEndian(append(*p, packUint8+3), n, 8)
	}
}

// Int appends a number.
func (p *Packer) Int(n int64) {
	switch {
	case n >= 0:
		p.Uint(uint64(n))
	case n >= -1<<5:
		*p = append(*p, byte(n))
	case n >= -1<<7:
		*p = append(*p, packInt8, byte(n))
	case n >= -1<<15:
		*p = bigEndian(append(*p, packInt8+1), uint64(n), 2)
	case n >= -1<<31:
		*p = bigEndian(append(*p, packInt8+2), uint64(n), 4)
	default:
		*p = bigEndian(append(*p, packInt8+3), uint64(n), 8)
	}
}

// Text appends a string.
func (p *Packer) Text(s string) {
	switch n := len(s); {
	case n < 1<<5:
		*p = append(*p, packString|byte(n))
	case n < 1<<8:
		*p = append(*p, packStr8, byte(n))
	case n < 1<<16:
		*p = bigEndian(append(*p, packStr8+1), uint64(n), 2)
	default:
		*p = bigEndian(append(*p, packStr8+2), uint64(n), 4)
	}
	*p = append(*p, s...)
}

// List begins a list.
func (p *Packer) List(n int) { p.many(n, packArray, packList16) }

// Pairs begins a map.
func (p *Packer) Pairs(n int) { p.many(n, packMap, packMap16) }

func (p *Packer) many(n int, short, long byte) {
	switch {
	case n < 1<<4:
		*p = append(*p, short|byte(n))
	case n < 1<<16:
		*p = bigEndian(append(*p, long), uint64(n), 2)
	default:
		*p = bigEndian(append(*p, long+1), uint64(n), 4)
	}
}

// ID appends an ID as its text, which the encoder by reflection takes for bytes.
func (p *Packer) ID(id [16]byte) { *p = hex.AppendEncode(append(*p, packBin8, hexSize), id[:]) }

// Null appends nil.
func (p *Packer) Null() { *p = append(*p, packNil) }

// Yes appends a field that is true; false ones are omitted.
func (p *Packer) Yes(name string) {
	p.Name(name)
	*p = append(*p, packTrue)
}

// bigEndian appends the last size bytes of n.
func bigEndian(b []byte, n uint64, size int) []byte {
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

// Some counts the fields that are not omitted.
func Some(present ...bool) (n int) {
	for _, p := range present {
		if p {
			n++
		}
	}
	return n
}
