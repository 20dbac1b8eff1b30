package wire_test

import (
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// randomly fills a value with random content. Numbers are of all sizes, and negative ones are
// among them if the type has any.
func randomly(r *rand.Rand, v reflect.Value) {
	size := func() uint64 { return r.Uint64() >> r.IntN(64) }
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		n := int64(size())
		if r.IntN(8) > 0 && n < 0 {
			n = -(n + 1)
		}
		v.SetInt(n * int64(r.IntN(2)))
	case reflect.Uint16:
		v.SetUint(uint64(uint16(size())))
	case reflect.Uint64:
		v.SetUint(size() * uint64(r.IntN(2)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(strings.Repeat("é", []int{0, 1, 15, 16, 100, 200}[r.IntN(6)]))
	case reflect.Array:
		for i := range v.Len() * r.IntN(2) {
			v.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			randomly(r, v.Field(i))
		}
	case reflect.Pointer:
		if v.SetZero(); r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomly(r, v.Elem())
		}
	case reflect.Slice:
		v.SetZero()
		if n := []int{0, 1, 2, 20}[r.IntN(4)]; n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			randomly(r, v.Index(i))
		}
	case reflect.Map: // one entry, since the order is random
		v.SetZero()
		if r.IntN(2) == 0 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			randomly(r, key)
			randomly(r, value)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		}
	default:
		panic(v.Kind())
	}
}

// TestRandomRequests: random requests to replicate are read as they were written.
func TestRandomRequests(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	r := rand.New(rand.NewPCG(1, 2))
	for range long.Or(500, 2000) {
		var in, strict, tolerant member.ReplicateRequest
		randomly(r, reflect.ValueOf(&in).Elem())
		data, err := wire.Encode(wire.MsgPack, in)
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Decode(wire.MsgPack, data, &strict); err != nil {
			t.Fatalf("%#v is written as %q, and not read: %v", in, data, err)
		}
		if err := wire.DecodeTolerant(wire.MsgPack, data, &tolerant); err != nil {
			t.Fatalf("%#v is written as %q, and not read: %v", in, data, err)
		}
		if !reflect.DeepEqual(strict, in) || !reflect.DeepEqual(tolerant, in) {
			t.Fatalf("%#v is written as %q, and read as %#v and %#v", in, data, strict, tolerant)
		}
	}
}

// TestListsAreBounded: lists that would take much more memory than bytes are refused.
func TestListsAreBounded(t *testing.T) {
	r := member.ReplicateRequest{Changes: make([]member.Table, wire.MaxElements)}
	data, err := wire.Encode(wire.MsgPack, r)
	if err != nil {
		t.Fatal(err)
	}
	if took := allocated(func() { err = wire.DecodeRequest(wire.MsgPack, data, &r) }); err == nil ||
		took > wire.MaxElements {
		t.Errorf("a list of empty changes is read (%v), and took %d bytes", err, took)
	}
}

// TestDamagedRequests: a request to replicate with a bad field, length or end is refused.
func TestDamagedRequests(t *testing.T) {
	replicate := func(after string) string {
		return "\xa9partition\x05\xa7version\x01\xa8position\x82\xa4term\x00\xa6number" + after
	}
	table := func(name string) string {
		return "\x00\xa5table\x82\xa4base\x00\xa7records\x91\x82\xa9sequencer\x85\xa4name\xa0\xa5epoch\x00\xa5nodes\x00" +
			"\xa4life\xc4\x20" + strings.Repeat("0", 28) + name + "\xa4born\x82\xa4term\x00\xa6number\x00\xa4free\x00"
	}
	for what, data := range map[string]string{
		"nothing":                 "",
		"more fields than stated": "\x82" + replicate("\x00"),
		"an end before a field":   "\x84" + replicate("\x00"),
		"data after the value":    "\x83" + replicate("\x00") + "\x00",
		"an end in a number":      "\x83" + replicate("\xcf\x00"),
		"a negative number":       "\x83" + replicate("\xff"),
		"a number too large":      strings.Replace("\x83"+replicate("\x00"), "\x05", "\xce\x00\x01\x00\x00", 1),
		"a capital digit":         "\x84" + replicate(table("000A")),
	} {
		if err := wire.DecodeTolerant(wire.MsgPack, []byte(data), &member.ReplicateRequest{}); err == nil {
			t.Errorf("%s: %q is read", what, data)
		}
	}
	for _, data := range []string{"\x83" + replicate("\x05"), "\x84" + replicate(table("000a"))} {
		if err := wire.DecodeTolerant(wire.MsgPack, []byte(data), &member.ReplicateRequest{}); err != nil {
			t.Errorf("%q is not read: %v", data, err)
		}
	}
}
