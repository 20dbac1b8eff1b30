package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"sync"
)

// Before a body is decoded its shape is checked, without allocating: a length
// that is more than the body holds, a list longer than any message has, lists of
// empty values that would grow in memory to many times their bytes, deep nesting,
// and, where the msgpack decoder would silently cut off bits, numbers that their
// field cannot hold.
const maxDepth = 16

// Lists in msgpack may take maxGrowth bytes of memory per byte of the body, plus freeGrowth, not
// counting one-word elements. Among snowgrid's own messages a partition without an owner grows most,
// 3.7 times. A JSON body may have jsonElements in all its lists together, not counting numbers.
const (
	maxGrowth    = 4
	freeGrowth   = 64 << 10
	wordSize     = 8
	jsonElements = 2 * MaxElements
)

var (
	errDeep   = fmt.Errorf("it is nested more than %d deep", maxDepth)
	errLong   = fmt.Errorf("a list or map has more than %d elements", MaxElements)
	errEmpty  = errors.New("its lists hold too many values without content")
	errNumber = errors.New("a number is out of its field's range")
)

// shapes has the bytes that checkJSON examines: a body of a megabyte has few.
var shapes = [256]bool{'"': true, '\\': true, '[': true, '{': true, ']': true, '}': true, ',': true}

// checkJSON checks the depth and the length of lists and objects. The decoder checks whether the
// body is valid JSON, and whether numbers fit.
func checkJSON(data []byte) error {
	var elements [maxDepth + 1]int // by depth, for the innermost open list
	var list [maxDepth + 1]bool    // by depth, whether that is a list
	depth, quoted, listed := 0, false, 0
	for i := 0; i < len(data); i++ {
		c := data[i]
		if !shapes[c] {
			continue
		}
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return errDeep
			}
			elements[depth], list[depth] = 1, c == '['
		case c == ']' || c == '}':
			depth = max(depth-1, 0)
		case c == ',':
			if elements[depth]++; elements[depth] > MaxElements {
				return errLong
			}
			if list[depth] && !isNumber(data[i+1:]) {
				listed++
			}
			if listed > jsonElements {
				return errLong
			}
		}
	}
	return nil
}

// isNumber reports whether the next JSON value is a number.
func isNumber(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9')
}

// checkMsgPack checks the shape of one value to be decoded into a t. It ignores the bytes after the
// value.
func checkMsgPack(data []byte, t reflect.Type) error {
	s := scan{rest: data, room: maxGrowth*len(data) + freeGrowth}
	return s.value(t, 0)
}

// scan walks through msgpack.
type scan struct {
	rest []byte
	room int // bytes that list elements may still take in memory
}

// kind is the type in a msgpack header.
type kind int

const (
	isOther    kind = iota // nil, a boolean, a float or an extension, without its bytes
	isUnsigned             // n is the number
	isNegative             // n is the number, in two's complement
	isBytes                // a string or binary of n bytes
	isArray                // n elements
	isMap                  // n pairs
)

// value checks one value to be decoded into a t; nil stands for an unknown type, since the decoder
// will skip the value.
func (s *scan) value(t reflect.Type, depth int) error {
	k, n, err := s.header()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k {
	case isOther, isBytes:
		_, err := s.take(n)
		return err
	case isUnsigned, isNegative:
		if t != nil && !holds(t, n, k == isNegative) {
			return errNumber
		}
		return nil
	}
	switch {
	case depth == maxDepth:
		return errDeep
	case n > MaxElements:
		return errLong
	case k == isArray:
		return s.array(t, int(n), depth)
	}
	return s.pairs(t, int(n), depth)
}

func (s *scan) array(t reflect.Type, n, depth int) error {
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		return errors.New("there is a list in place of a map")
	}
	if t != nil && t.Kind() == reflect.Slice {
		elem = t.Elem()
		if size := int(elem.Size()); size > wordSize {
			s.room -= n * size
		}
	}
	if s.room < 0 {
		return errEmpty
	}
	for range n {
		if err := s.value(elem, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) pairs(t reflect.Type, n, depth int) error {
	var fields map[string]reflect.Type
	var elem reflect.Type // a map's
	switch {
	case t != nil && t.Kind() == reflect.Struct:
		fields = fieldsOf(t)
	case t != nil && t.Kind() == reflect.Map:
		elem = t.Elem()
		if s.room -= n * (int(t.Key().Size()+elem.Size()) + wordSize); s.room < 0 {
			return errEmpty
		}
	}
	for range n {
		k, size, err := s.header()
		if err != nil {
			return err
		}
		if k != isBytes {
			return errors.New("the key of a map is not text")
		}
		name, err := s.take(size)
		if err != nil {
			return err
		}
		as := elem
		if fields != nil {
			as = fields[string(name)]
		}
		if err := s.value(as, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// header reads a value's first bytes; n is a number, a count, or how many bytes
// follow.
func (s *scan) header() (k kind, n uint64, err error) {
	first, err := s.take(1)
	if err != nil {
		return 0, 0, err
	}
	switch c := first[0]; {
	case c <= 0x7f:
		return isUnsigned, uint64(c), nil
	case c <= 0x8f:
		return isMap, uint64(c & 0x0f), nil
	case c <= 0x9f:
		return isArray, uint64(c & 0x0f), nil
	case c <= 0xbf:
		return isBytes, uint64(c & 0x1f), nil
	case c >= 0xe0:
		return isNegative, uint64(int64(int8(c))), nil
	case c == 0xc0, c == 0xc2, c == 0xc3: // nil, false, true
		return isOther, 0, nil
	case 0xc4 <= c && c <= 0xc6: // binary
		n, err = s.number(1 << (c - 0xc4))
		return isBytes, n, err
	case 0xc7 <= c && c <= 0xc9: // extension: a type byte follows the length
		n, err = s.number(1 << (c - 0xc7))
		return isOther, n + 1, err
	case c == 0xca || c == 0xcb: // float
		return isOther, 4 << (c - 0xca), nil
	case 0xcc <= c && c <= 0xcf:
		n, err = s.number(1 << (c - 0xcc))
		return isUnsigned, n, err
	case 0xd0 <= c && c <= 0xd3:
		return s.signed(1 << (c - 0xd0))
	case 0xd4 <= c && c <= 0xd8: // extension with a fixed size
		return isOther, 1<<(c-0xd4) + 1, nil
	case 0xd9 <= c && c <= 0xdb: // string
		n, err = s.number(1 << (c - 0xd9))
		return isBytes, n, err
	case c == 0xdc || c == 0xdd:
		n, err = s.number(2 << (c - 0xdc))
		return isArray, n, err
	case c == 0xde || c == 0xdf:
		n, err = s.number(2 << (c - 0xde))
		return isMap, n, err
	}
	return 0, 0, errors.New("a byte has no meaning in msgpack")
}

// signed reads an integer that may be negative.
func (s *scan) signed(size int) (kind, uint64, error) {
	n, err := s.number(size)
	unused := 64 - 8*size
	v := int64(n<<unused) >> unused
	if v < 0 {
		return isNegative, uint64(v), err
	}
	return isUnsigned, n, err
}

// number reads a big-endian integer.
func (s *scan) number(size int) (n uint64, err error) {
	b, err := s.take(uint64(size))
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n, err
}

func (s *scan) take(n uint64) ([]byte, error) {
	if n > uint64(len(s.rest)) {
		return nil, io.ErrUnexpectedEOF
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b, nil
}

// holds reports whether a field of type t can hold a number; for fields that are
// not integers the decoder decides.
func holds(t reflect.Type, n uint64, negative bool) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return (negative || n <= math.MaxInt64) && !t.OverflowInt(int64(n))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return !negative && !t.OverflowUint(n)
	}
	return true
}

// known caches each struct type's fields: map[string]reflect.Type by type.
var known sync.Map

// fieldsOf returns a struct's field types by wire name, including embedded structs.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if fields, ok := known.Load(t); ok {
		return fields.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && !f.Anonymous {
			fields[name] = f.Type
		}
	}
	known.Store(t, fields)
	return fields
}
