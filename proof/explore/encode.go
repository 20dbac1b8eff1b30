package explore

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
)

// appendValue appends a canonical encoding of everything reachable from a value:
// equal contents have equal encodings, and others have others. Fields named in
// skip are left out.
func appendValue(b []byte, v reflect.Value, skip string) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
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
		return appendValue(append(b, 1), v.Elem(), skip)
	case reflect.Slice, reflect.Array:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i), skip)
		}
		return b
	case reflect.Map:
		return appendMap(b, v, skip)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != skip {
				b = appendValue(b, v.Field(i), skip)
			}
		}
		return b
	}
	panic(fmt.Sprintf("explore: a machine has a %v, which cannot be encoded", v.Kind()))
}

// appendMap appends the entries in the order of their encodings.
func appendMap(b []byte, v reflect.Value, skip string) []byte {
	var entries []string
	for i := v.MapRange(); i.Next(); {
		entries = append(entries, string(appendValue(appendValue(nil, i.Key(), skip), i.Value(), skip)))
	}
	slices.Sort(entries)
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}
