package explore

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// encoder appends canonical encodings: equal contents have equal encodings, and different contents
// have different ones. It omits the parts of a machine without an effect, by the hooks for its
// types (machine.go).
type encoder struct {
	hooks map[reflect.Type]hook
	// number numbers the reply functions passed by requests.
	number func(f unsafe.Pointer) uint64
	now    time.Duration // in the encoded process
	// What requests in the scope can affect.
	sets, silence, late bool
	names               bool // an exploration of definitions
}

// hook encodes one type's values.
type hook func(e *encoder, b []byte, v reflect.Value) []byte

// plain encodes everything, and has no function numbers.
var plain = &encoder{}

// append appends the encoding of everything reachable from a value.
func (e *encoder) append(b []byte, v reflect.Value) []byte {
	if hook := e.hooks[v.Type()]; hook != nil {
		return hook(e, b, addressable(v))
	}
	return e.contents(b, v)
}

// contents appends a value, ignoring its own type's hook.
func (e *encoder) contents(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return append(b, bit(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, 0)
		}
		return e.append(append(b, 1), v.Elem())
	case reflect.Slice, reflect.Array:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = e.append(b, v.Index(i))
		}
		return b
	case reflect.Map:
		return e.mapEntries(b, v)
	case reflect.Struct:
		return e.fields(b, v)
	case reflect.Func:
		if v.IsNil() {
			return append(b, 0)
		}
		return binary.AppendUvarint(b, 1+e.number(functionOf(v)))
	}
	panic(fmt.Sprintf("explore: a machine has a %v, which cannot be encoded", v.Kind()))
}

// fields appends a struct without the excepted fields.
func (e *encoder) fields(b []byte, v reflect.Value, except ...string) []byte {
	v = addressable(v)
	for i := range v.NumField() {
		if !slices.Contains(except, v.Type().Field(i).Name) {
			b = e.append(b, writable(v.Field(i)))
		}
	}
	return b
}

// mapEntries appends the entries sorted by their encodings.
func (e *encoder) mapEntries(b []byte, v reflect.Value) []byte {
	var entries []string
	for i := v.MapRange(); i.Next(); {
		entries = append(entries, string(e.append(e.append(nil, i.Key()), i.Value())))
	}
	return appendSet(b, entries)
}

// appendSet appends encodings sorted, each once.
func appendSet(b []byte, entries []string) []byte {
	slices.Sort(entries)
	entries = slices.Compact(entries)
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, entry := range entries {
		b = binary.AppendUvarint(b, uint64(len(entry)))
		b = append(b, entry...)
	}
	return b
}

// addressable returns the value with addressable fields, a copy if necessary.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	return out
}

// field returns a struct's private field.
func field(v reflect.Value, name string) reflect.Value { return writable(v.FieldByName(name)) }

// part returns the part of a machine that a private field points to.
func part(v reflect.Value, name string) reflect.Value { return field(v, name).Elem() }

// functionOf distinguishes functions with the same code and different contexts.
func functionOf(v reflect.Value) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(addressable(v).UnsafeAddr()))
}
