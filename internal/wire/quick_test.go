package wire_test

import (
	"bytes"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// quickMessages are those with an encoder and a decoder of their own.
var quickMessages = []any{member.ReplicateRequest{}}

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

// TestQuickAgrees: for random messages the encoders by hand and by reflection write the same
// bytes, and the decoders read the same message. With negative numbers the encoder by hand
// gives up.
func TestQuickAgrees(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	r := rand.New(rand.NewPCG(1, 2))
	read := map[reflect.Type]int{}
	for range 2000 {
		for _, m := range quickMessages {
			v := reflect.New(reflect.TypeOf(m))
			randomly(r, v.Elem())
			want, err := wire.AppendByReflection(nil, v.Elem().Interface())
			if err != nil {
				t.Fatal(err)
			}
			got, err := wire.Encode(wire.MsgPack, v.Elem().Interface())
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%#v is\n%q, %v; want\n%q", v.Elem().Interface(), got, err, want)
			}
			if agree(t, m, got) {
				read[v.Elem().Type()]++
			}
		}
	}
	for _, m := range quickMessages {
		if n := read[reflect.TypeOf(m)]; n < 20 {
			t.Errorf("of 2000 messages %T %d were decoded by hand", m, n)
		}
	}
}

// agree checks one message of the type of m, and reports whether it was decoded by hand.
func agree(t *testing.T, m any, data []byte) bool {
	t.Helper()
	quick, slow := reflect.New(reflect.TypeOf(m)), reflect.New(reflect.TypeOf(m))
	if !quick.Interface().(interface{ DecodeQuickly([]byte) bool }).DecodeQuickly(data) {
		if !quick.Elem().IsZero() {
			t.Fatalf("%T: a decoder by hand gave up and left %#v of %q", m, quick.Elem().Interface(), data)
		}
		return false
	}
	for _, strict := range []bool{false, true} {
		if err := wire.DecodeByReflection(data, slow.Interface(), strict); err != nil {
			t.Fatalf("%T: %q is read by hand and not by reflection: %v", m, data, err)
		}
	}
	if !reflect.DeepEqual(quick.Elem().Interface(), slow.Elem().Interface()) {
		t.Fatalf("%q is by hand\n%#v; by reflection\n%#v", data, quick.Elem().Interface(), slow.Elem().Interface())
	}
	return true
}

// TestQuickGivesUp: decoders by hand leave to the one by reflection what no message of this
// release is, and all that it refuses.
func TestQuickGivesUp(t *testing.T) {
	replicate := func(after string) string {
		return "\xa9partition\x05\xa7version\x01\xa8position\x82\xa4term\x00\xa6number" + after
	}
	table := func(name string) string {
		return "\x00\xa5table\x82\xa4base\x00\xa7records\x91\x82\xa9sequencer\x85\xa4name\xa0\xa5epoch\x00\xa5nodes\x00" +
			"\xa4life\xc4\x20" + strings.Repeat("0", 28) + name + "\xa4born\x82\xa4term\x00\xa6number\x00\xa4free\x00"
	}
	for what, data := range map[string]string{
		"nothing":                 "",
		"nil":                     "\xc0",
		"a field of another name": "\x84" + replicate("\x00") + "\xa3new\x01",
		"a missing field":         "\x82" + strings.TrimPrefix(replicate("\x00"), "\xa9partition\x05"),
		"more fields than stated": "\x82" + replicate("\x00"),
		"an end before a field":   "\x84" + replicate("\x00"),
		"data after the value":    "\x83" + replicate("\x00") + "\x00",
		"an end in a number":      "\x83" + replicate("\xcf\x00"),
		"a negative number":       "\x83" + replicate("\xff"),
		"a number too large":      strings.Replace("\x83"+replicate("\x00"), "\x05", "\xce\x00\x01\x00\x00", 1),
		"a capital digit":         "\x84" + replicate(table("000A")),
		"an empty list":           "\x84" + replicate("\x00\xa7changes\x90"),
	} {
		if (&member.ReplicateRequest{}).DecodeQuickly([]byte(data)) {
			t.Errorf("%s: %q is read by hand", what, data)
		}
	}
	for _, data := range []string{"\x83" + replicate("\x05"), "\x84" + replicate(table("000a"))} {
		if !(&member.ReplicateRequest{}).DecodeQuickly([]byte(data)) {
			t.Errorf("%q is not read by hand", data)
		}
	}
}

// TestQuickListsAreBounded: lists that would take much more memory than bytes are left to the
// decoder by reflection, which refuses them, before they are made.
func TestQuickListsAreBounded(t *testing.T) {
	r := member.ReplicateRequest{Changes: make([]member.Table, wire.MaxElements)}
	data, err := wire.Encode(wire.MsgPack, r)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	quick := (&member.ReplicateRequest{}).DecodeQuickly(data)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; quick || took > wire.MaxElements {
		t.Errorf("a list of empty changes is read by hand (%v), and took %d bytes", quick, took)
	}
	if err := wire.DecodeRequest(wire.MsgPack, data, &r); err == nil {
		t.Error("a list of empty changes is accepted")
	}
}

// FuzzQuick has the decoders by hand agree with the one by reflection on every input that they
// read.
func FuzzQuick(f *testing.F) {
	r := rand.New(rand.NewPCG(math.MaxUint64, 1))
	for range 5 {
		for _, m := range quickMessages {
			v := reflect.New(reflect.TypeOf(m)).Elem()
			randomly(r, v)
			data, err := wire.Encode(wire.MsgPack, v.Interface())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range quickMessages {
			if !agree(t, m, data) {
				continue
			}
			v := reflect.New(reflect.TypeOf(m))
			v.Interface().(interface{ DecodeQuickly([]byte) bool }).DecodeQuickly(data)
			stable(t, wire.MsgPack, v.Elem().Interface())
		}
	})
}
