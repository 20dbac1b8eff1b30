package explore

import (
	"reflect"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// The machines under test have private fields and are copied nowhere else, so they are copied from
// outside. A copy by reflection cannot miss a field that is added later.

// deepCopy returns a copy of the value that p points to. It shares with the original only immutable
// values: rosters, errors, the exploration's own functions, which refer to no process, and the
// effects sink. A value with two pointers to it is copied once.
func deepCopy[T any](p *T) *T {
	c := copier{}
	return c.copyOf(reflect.ValueOf(p)).Interface().(*T)
}

// copier maps pointers to their values' copies.
type copier map[unsafe.Pointer]reflect.Value

// copyOf returns a copy. It reads and writes fields through their addresses, because Go's
// reflection refuses to write private ones.
func (c copier) copyOf(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	c.unshare(out)
	return out
}

// isShared reports whether a type's values are immutable, or the exploration's own.
func isShared(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[*roster.Roster](), reflect.TypeFor[error](), reflect.TypeFor[partition.Member]():
		return true
	}
	return t.Kind() == reflect.Func
}

// unshare replaces everything that a value shares with its original by copies.
func (c copier) unshare(v reflect.Value) {
	if isShared(v.Type()) || isFlat(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			v.Set(c.target(v))
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(c.copyOf(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(fresh, v)
			v.Set(fresh)
			c.unshareElements(fresh)
		}
	case reflect.Array:
		c.unshareElements(v)
	case reflect.Map:
		if !v.IsNil() {
			v.Set(c.mapCopy(v))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			c.unshare(writable(v.Field(i)))
		}
	default:
		panic("explore: a machine has a " + v.Kind().String() + ", which cannot be copied")
	}
}

func (c copier) unshareElements(v reflect.Value) {
	if !isFlat(v.Type().Elem()) {
		for i := range v.Len() {
			c.unshare(v.Index(i))
		}
	}
}

func (c copier) target(v reflect.Value) reflect.Value {
	if known, found := c[v.UnsafePointer()]; found && known.Type() == v.Type() {
		return known
	}
	fresh := reflect.New(v.Type().Elem())
	c[v.UnsafePointer()] = fresh
	fresh.Elem().Set(v.Elem())
	c.unshare(fresh.Elem())
	return fresh
}

func (c copier) mapCopy(v reflect.Value) reflect.Value {
	fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
	for i := v.MapRange(); i.Next(); {
		fresh.SetMapIndex(c.copyOf(i.Key()), c.copyOf(i.Value()))
	}
	return fresh
}

// writable returns an addressable field without the private flag.
func writable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// isFlat reports whether assignment copies a type's values completely.
func isFlat(t reflect.Type) bool {
	flat, known := flatTypes[t]
	if !known {
		flat = lookFlat(t)
		flatTypes[t] = flat
	}
	return flat
}

// flatTypes caches isFlat. An exploration has one goroutine.
var flatTypes = map[reflect.Type]bool{}

func lookFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}
