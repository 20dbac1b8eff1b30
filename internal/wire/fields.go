package wire

import (
	"encoding/hex"
	"math"
	"reflect"
	"unsafe"
)

// Listing is a pointer to a message that lists its fields for [Fields]: the messages of an attach, of a
// detach and of a replication. The codec by reflection has the same output, and takes four times as
// long. A new field of such a message is added to its list as well.
type Listing interface{ List(f *Fields) }

// Fields writes or reads the fields of one message in msgpack, in the order of its List method.
//
// The output is, byte for byte, the output of the codec by reflection. Fields reads nothing else: for
// another order, or a later release's field, it fails, and the codec by reflection reads the message.
// So it accepts no message that the other one refuses.
type Fields struct {
	data    []byte // the output, or the input not read yet
	writing bool
	failed  bool // the input is not as a Fields writes it
	fields  int  // writing: the index of the innermost struct's header; reading: its fields not read yet
	room    int  // reading: as in scan
}

// Codes of msgpack.
const (
	codeMap    = 0x80
	codeArray  = 0x90
	codeString = 0xa0
	codeNil    = 0xc0
	codeTrue   = 0xc3
	codeBin8   = 0xc4
	codeUint8  = 0xcc
	codeStr8   = 0xd9
	codeList16 = 0xdc
	codeMap16  = 0xde

	fixedFields = 0x0f // most fields or elements with a header of one byte
	fixedBytes  = 0x1f // most bytes of a string with a header of one byte
	hexSize     = 32   // digits of an ID
)

// appendListing appends a message's fields to b. ok is false if it has a value that the codec by
// reflection has to write.
func appendListing(b []byte, m Listing) (out []byte, ok bool) {
	f := Fields{data: b, writing: true}
	f.object(m.List)
	return f.data, !f.failed
}

// readListing reads a message. If ok is false, it is zero, and the codec by reflection has to read it.
func readListing(data []byte, m Listing) (ok bool) {
	f := Fields{data: data, room: maxGrowth*len(data) + freeGrowth}
	f.object(m.List)
	if ok = !f.failed && len(f.data) == 0; !ok {
		reflect.ValueOf(m).Elem().SetZero()
	}
	return ok
}

// Has begins an optional field: it is written if present is true, and read if it is next. The
// caller lists the value if Has returns true.
func (f *Fields) Has(name string, present bool) bool {
	if f.writing {
		if present {
			f.data[f.fields]++
			f.data = append(append(f.data, codeString|byte(len(name))), name...)
		}
		return present
	}
	n := 1 + len(name)
	if f.fields == 0 || len(f.data) < n || f.data[0] != codeString|byte(len(name)) || string(f.data[1:n]) != name {
		return false
	}
	f.fields--
	f.data = f.data[n:]
	return true
}

// key begins a field that every message has.
func (f *Fields) key(name string) {
	if !f.Has(name, true) {
		f.fail()
	}
}

func (f *Fields) fail() { f.failed, f.data, f.fields = true, nil, 0 }

// Flag lists a field that is omitted if it is false.
func (f *Fields) Flag(name string, v *bool) {
	switch {
	case !f.Has(name, *v):
	case f.writing:
		f.data = append(f.data, codeTrue)
	default:
		if b := f.take(1); f.failed || b[0] != codeTrue {
			f.fail()
		} else {
			*v = true
		}
	}
}

// Struct lists a field that is a struct with the fields that list lists.
func (f *Fields) Struct(name string, list func(f *Fields)) {
	f.key(name)
	f.object(list)
}

// object is a struct: a whole message, or a field's value.
func (f *Fields) object(list func(f *Fields)) {
	outer := f.fields
	if f.writing {
		f.fields = len(f.data)
		f.data = append(f.data, codeMap)
		list(f)
	} else {
		k, n := f.header()
		if f.fields = int(min(n, MaxElements)); k != isMap {
			f.fail()
		}
		if list(f); f.fields != 0 {
			f.fail()
		}
	}
	f.fields = outer
}

// Pointer lists a struct that is omitted if the pointer is nil.
func Pointer[T any, P interface {
	*T
	Listing
}](f *Fields, name string, p **T) {
	if !f.Has(name, *p != nil) {
		return
	}
	if !f.writing {
		*p = new(T)
	}
	f.object(P(*p).List)
}

// integer is the type of a number. A negative one is left to the codec by reflection.
type integer interface {
	~int | ~int64 | ~uint16 | ~uint64
}

// Number lists a number.
func Number[T integer](f *Fields, name string, v *T) {
	f.key(name)
	number(f, v)
}

// NonZero lists a number that is omitted if it is 0.
func NonZero[T integer](f *Fields, name string, v *T) {
	if f.Has(name, *v != 0) {
		number(f, v)
	}
}

// Nullable lists a number that is nil if there is none.
func Nullable[T ~uint16](f *Fields, name string, p **T) {
	switch f.key(name); {
	case f.writing && *p == nil:
		f.data = append(f.data, codeNil)
	case f.writing:
		number(f, *p)
	case len(f.data) > 0 && f.data[0] == codeNil:
		f.data, *p = f.data[1:], nil
	default:
		*p = new(T)
		number(f, *p)
	}
}

func number[T integer](f *Fields, v *T) {
	if f.writing {
		f.failed = f.failed || *v < 0
		f.appendNumber(uint64(*v))
		return
	}
	n := f.number()
	if *v = T(n); *v < 0 || uint64(*v) != n {
		f.fail()
	}
}

// Text lists a string.
func Text[T ~string](f *Fields, name string, v *T) {
	f.key(name)
	text(f, v)
}

func text[T ~string](f *Fields, v *T) {
	if f.writing {
		f.appendHeader(len(*v), codeString, fixedBytes, codeStr8)
		f.data = append(f.data, *v...)
		return
	}
	k, n := f.header()
	if k != isBytes || n > uint64(len(f.data)) {
		f.fail()
		return
	}
	*v = T(f.take(int(n)))
}

// Hex lists an ID.
func Hex[T ~[16]byte](f *Fields, name string, v *T) {
	f.key(name)
	digits(f, v)
}

// HexPointer lists an ID that is omitted if it is nil or zero.
func HexPointer[T ~[16]byte](f *Fields, name string, p **T) {
	var zero T
	if !f.Has(name, *p != nil && **p != zero) {
		return
	}
	if !f.writing {
		*p = new(T)
	}
	digits(f, *p)
}

// digits is an ID: the codec by reflection writes its text.
func digits[T ~[16]byte](f *Fields, v *T) {
	if f.writing {
		f.data = hex.AppendEncode(append(f.data, codeBin8, hexSize), (*v)[:])
		return
	}
	text := f.take(2 + hexSize)
	if f.failed || text[0] != codeBin8 || text[1] != hexSize {
		f.fail()
		return
	}
	for i, c := range text[2:] {
		digit := c - '0'
		if c >= 'a' && c <= 'f' {
			digit = c - 'a' + 10
		} else if digit > 9 {
			f.fail()
			return
		}
		(*v)[i/2] = (*v)[i/2]<<4 | digit
	}
}

// List lists a list of structs that is omitted if it is empty.
func List[T any](f *Fields, name string, s *[]T, list func(f *Fields, v *T)) {
	elements(f, name, s, func(v *T) { f.object(func(f *Fields) { list(f, v) }) })
}

// Texts lists a list of strings that is omitted if it is empty.
func Texts(f *Fields, name string, s *[]string) {
	elements(f, name, s, func(v *string) { text(f, v) })
}

func elements[T any](f *Fields, name string, s *[]T, element func(v *T)) {
	if !f.Has(name, len(*s) > 0) {
		return
	}
	if f.writing {
		f.appendHeader(len(*s), codeArray, fixedFields, codeList16-1)
	} else {
		var none T
		*s = make([]T, f.count(isArray, int(unsafe.Sizeof(none))))
	}
	for i := range *s {
		element(&(*s)[i])
	}
}

// Map lists a map that is omitted if it is empty.
func Map(f *Fields, name string, m *map[string]string) {
	if !f.Has(name, len(*m) > 0) {
		return
	}
	if f.writing {
		f.appendHeader(len(*m), codeMap, fixedFields, codeMap16-1)
		for key, value := range *m {
			text(f, &key)
			text(f, &value)
		}
		return
	}
	n := f.count(isMap, 2*int(unsafe.Sizeof(""))+wordSize)
	*m = make(map[string]string, n)
	for range n {
		var key, value string
		text(f, &key)
		text(f, &value)
		(*m)[key] = value
	}
}

// count reads the header of a list or map. Each element takes size bytes in memory.
func (f *Fields) count(of kind, size int) int {
	k, n := f.header()
	if size > wordSize {
		f.room -= int(min(n, MaxElements)) * size
	}
	if k != of || n == 0 || n > MaxElements || n > uint64(len(f.data)) || f.room < 0 {
		f.fail()
		return 0
	}
	return int(n)
}

// appendHeader appends the header of n bytes or elements: short for at most fixed of them. Of
// codes with a length of one, two and four bytes, the first is long.
func (f *Fields) appendHeader(n int, short byte, fixed int, long byte) {
	switch {
	case n <= fixed:
		f.data = append(f.data, short|byte(n))
	case n <= math.MaxUint8 && long == codeStr8:
		f.data = append(f.data, long, byte(n))
	case n <= math.MaxUint16:
		f.data = append(f.data, long+1, byte(n>>8), byte(n))
	default:
		f.failed = true
	}
}

func (f *Fields) appendNumber(n uint64) {
	size := 0 // its logarithm
	switch {
	case n < 1<<7:
		f.data = append(f.data, byte(n))
		return
	case n > math.MaxUint32:
		size = 3
	case n > math.MaxUint16:
		size = 2
	case n > math.MaxUint8:
		size = 1
	}
	f.data = append(f.data, codeUint8+byte(size))
	for i := 8<<size - 8; i >= 0; i -= 8 {
		f.data = append(f.data, byte(n>>i))
	}
}

func (f *Fields) number() uint64 {
	k, n := f.header()
	if k != isUnsigned {
		f.fail()
	}
	return n
}

// header reads a value's first bytes; see [scan.header].
func (f *Fields) header() (kind, uint64) {
	s := scan{rest: f.data}
	k, n, err := s.header()
	if f.data = s.rest; err != nil {
		f.fail()
		return isOther, 0
	}
	return k, n
}

func (f *Fields) take(n int) []byte {
	if n > len(f.data) || f.failed {
		f.fail()
		return nil
	}
	b := f.data[:n]
	f.data = f.data[n:]
	return b
}
