package wire

import "math"

// Unpacker reads a Packer's output. After any other input bad is set, and every value is zero.
type Unpacker struct {
	rest []byte
	room int // as in scan
	bad  bool
}

func (u *Unpacker) fail() { u.bad, u.rest = true, nil }

// take returns the next n bytes.
func (u *Unpacker) take(n int) []byte {
	if n > len(u.rest) {
		u.fail()
		return nil
	}
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b
}

func (u *Unpacker) code() byte {
	if len(u.rest) == 0 {
		u.fail()
		return packNil
	}
	c := u.rest[0]
	u.rest = u.rest[1:]
	return c
}

// Fields begins a struct, and returns how many fields it has.
func (u *Unpacker) Fields() int {
	c := u.code()
	if c&^0x0f != packMap {
		u.fail()
	}
	return int(c & 0x0f)
}

// Has reports whether the named field is next, given left remaining fields, and reads the name.
func (u *Unpacker) Has(left *int, name string) bool {
	n := 1 + len(name)
	if *left == 0 || len(u.rest) < n || u.rest[0] != packString|byte(len(name)) || string(u.rest[1:n]) != name {
		return false
	}
	*left--
	u.rest = u.rest[n:]
	return true
}

// Must is Has for a field that is never omitted.
func (u *Unpacker) Must(left *int, name string) {
	if !u.Has(left, name) {
		u.fail()
	}
}

// End requires that a struct has no further fields.
func (u *Unpacker) End(left int) {
	if left != 0 {
		u.fail()
	}
}

func (u *Unpacker) number(size int) (n uint64) {
	for _, b := range u.take(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

// Uint reads a number that is not negative, and at most most.
func (u *Unpacker) Uint(most uint64) (n uint64) {
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

// Int64 reads a number that is not negative.
func (u *Unpacker) Int64() int64 { return int64(u.Uint(math.MaxInt64)) }

// Int reads a number that is not negative.
func (u *Unpacker) Int() int { return int(u.Uint(math.MaxInt)) }

// Uint64 reads a number.
func (u *Unpacker) Uint64() uint64 { return u.Uint(math.MaxUint64) }

// Uint16 reads a 16-bit number.
func (u *Unpacker) Uint16() uint16 { return uint16(u.Uint(math.MaxUint16)) }

// Text reads a string.
func (u *Unpacker) Text() string {
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

// List begins a list of elements of a size in memory. It has one at least: empty ones are omitted.
func (u *Unpacker) List(size int) int { return u.many(size, packArray, packList16) }

// Pairs begins a map of elements of a size in memory, like List.
func (u *Unpacker) Pairs(size int) int { return u.many(size, packMap, packMap16) }

func (u *Unpacker) many(size int, short, long byte) (n int) {
	switch c := u.code(); {
	case c&^0x0f == short:
		n = int(c & 0x0f)
	case c == long:
		n = int(u.number(2))
	}
	u.room -= n * size
	if n == 0 || n > MaxElements || u.room < 0 || n > len(u.rest) {
		u.fail()
		return 0
	}
	return n
}

// ID reads an ID, which is sent as its text.
func (u *Unpacker) ID() (id [16]byte) {
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

// Null reports whether nil is next, and reads it.
func (u *Unpacker) Null() bool {
	if len(u.rest) == 0 || u.rest[0] != packNil {
		return false
	}
	u.rest = u.rest[1:]
	return true
}

// Yes reads a field that is true, if it is next.
func (u *Unpacker) Yes(left *int, name string) bool {
	if !u.Has(left, name) {
		return false
	}
	if u.code() != packTrue {
		u.fail()
	}
	return !u.bad
}
