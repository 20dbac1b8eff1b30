package member

import "encoding/hex"

// The request to replicate has its own encoder and decoder: msgpack by reflection takes more time
// than the rest of a member's work for it.
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

	hexSize = 32 // bytes in the text of a 16-byte ID
)

// packer appends values in msgpack, each in its shortest form.
type packer []byte

// fields begins a struct with n fields.
func (p *packer) fields(n int) { *p = append(*p, packMap|byte(n)) }

// name appends a field's name, which is short. The value follows.
func (p *packer) name(s string) *packer {
	*p = append(append(*p, packString|byte(len(s))), s...)
	return p
}

// uint appends a number that is not negative.
func (p *packer) uint(n uint64) {
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

// int appends a number.
func (p *packer) int(n int64) {
	switch {
	case n >= 0:
		p.uint(uint64(n))
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

// text appends a string.
func (p *packer) text(s string) {
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

// list begins a list.
func (p *packer) list(n int) {
	switch {
	case n < 1<<4:
		*p = append(*p, packArray|byte(n))
	case n < 1<<16:
		*p = bigEndian(append(*p, packList16), uint64(n), 2)
	default:
		*p = bigEndian(append(*p, packList16+1), uint64(n), 4)
	}
}

// id appends an ID as its text, which the encoder by reflection takes for bytes.
func (p *packer) id(id [16]byte) { *p = hex.AppendEncode(append(*p, packBin8, hexSize), id[:]) }

// yes appends a field that is true; false ones are omitted.
func (p *packer) yes(name string) {
	p.name(name)
	*p = append(*p, packTrue)
}

// bigEndian appends the last size bytes of n.
func bigEndian(b []byte, n uint64, size int) []byte {
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

// some counts the fields that are not omitted.
func some(present ...bool) (n int) {
	for _, p := range present {
		if p {
			n++
		}
	}
	return n
}
