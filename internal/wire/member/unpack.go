package member

import (
	"math"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// unpacker reads a packer's output. After any other input bad is set, and every value is zero.
type unpacker struct {
	rest []byte
	room int // in memory, as package wire bounds it
	bad  bool
}

func (u *unpacker) fail() { u.bad, u.rest = true, nil }

// take returns the next n bytes.
func (u *unpacker) take(n int) []byte {
	if n > len(u.rest) {
		u.fail()
		return nil
	}
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b
}

func (u *unpacker) code() byte {
	if len(u.rest) == 0 {
		u.fail()
		return packNil
	}
	c := u.rest[0]
	u.rest = u.rest[1:]
	return c
}

// fields begins a struct, and returns how many fields it has.
func (u *unpacker) fields() int {
	c := u.code()
	if c&^0x0f != packMap {
		u.fail()
	}
	return int(c & 0x0f)
}

// has reports whether the named field is next, given left remaining fields, and reads the name.
func (u *unpacker) has(left *int, name string) bool {
	n := 1 + len(name)
	if *left == 0 || len(u.rest) < n || u.rest[0] != packString|byte(len(name)) || string(u.rest[1:n]) != name {
		return false
	}
	*left--
	u.rest = u.rest[n:]
	return true
}

// must is has for a field that is never omitted.
func (u *unpacker) must(left *int, name string) *unpacker {
	if !u.has(left, name) {
		u.fail()
	}
	return u
}

// end requires that a struct has no further fields.
func (u *unpacker) end(left int) {
	if left != 0 {
		u.fail()
	}
}

func (u *unpacker) number(size int) (n uint64) {
	for _, b := range u.take(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

// uint reads a number that is not negative, and at most most.
func (u *unpacker) uint(most uint64) (n uint64) {
	switch c := u.code(); {
	case c < 1<<7:
		n = uint64(c)
	case c >= packUint8 && c <= packUint8+3:
		n = u.number(1 << (c - packUint8))
	default:
		u.fail()
	}
	if n > most {
		u.fail()
		return 0
	}
	return n
}

// int64 reads a number that is not negative.
func (u *unpacker) int64() int64 { return int64(u.uint(math.MaxInt64)) }

// int reads a number that is not negative.
func (u *unpacker) int() int { return int(u.uint(math.MaxInt)) }

// uint64 reads a number.
func (u *unpacker) uint64() uint64 { return u.uint(math.MaxUint64) }

// uint16 reads a 16-bit number.
func (u *unpacker) uint16() uint16 { return uint16(u.uint(math.MaxUint16)) }

// text reads a string.
func (u *unpacker) text() string {
	n := 0
	switch c := u.code(); {
	case c&^0x1f == packString:
		n = int(c & 0x1f)
	case c == packStr8:
		n = int(u.number(1))
	case c == packStr8+1:
		n = int(u.number(2))
	default:
		u.fail()
	}
	return string(u.take(n))
}

// list begins a list of elements of a size in memory. It has one at least: empty ones are omitted.
func (u *unpacker) list(size int) (n int) {
	switch c := u.code(); {
	case c&^0x0f == packArray:
		n = int(c & 0x0f)
	case c == packList16:
		n = int(u.number(2))
	}
	u.room -= n * size
	if n == 0 || n > wire.MaxElements || u.room < 0 || n > len(u.rest) {
		u.fail()
		return 0
	}
	return n
}

// id reads an ID, which is sent as its text.
func (u *unpacker) id() (id [16]byte) {
	text := u.take(2 + hexSize)
	if u.bad || text[0] != packBin8 || text[1] != hexSize {
		u.fail()
		return id
	}
	for i := range id {
		high, low := hexDigits[text[2+2*i]], hexDigits[text[3+2*i]]
		if high|low > 0x0f {
			u.fail()
			return [16]byte{}
		}
		id[i] = high<<4 | low
	}
	return id
}

// hexDigits has each digit's value, and 0xff for other bytes.
var hexDigits = func() (digits [256]byte) {
	for i := range digits {
		digits[i] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		digits[c] = byte(i)
	}
	return digits
}()

// yes reads a field that is true, if it is next.
func (u *unpacker) yes(left *int, name string) bool {
	if !u.has(left, name) {
		return false
	}
	if u.code() != packTrue {
		u.fail()
	}
	return !u.bad
}
