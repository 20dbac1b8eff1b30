package wire_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
)

// listings returns one value of each message with a listing.
func listings() []wire.Listing {
	return []wire.Listing{new(wire.AttachRequest), new(wire.AttachResponse), new(wire.DetachRequest), new(wire.Done),
		new(member.ReplicateRequest), new(member.ReplicateResponse)}
}

// TestMessagesWithListings: no message inherits the listing of an embedded struct.
func TestMessagesWithListings(t *testing.T) {
	want := map[reflect.Type]bool{}
	for _, m := range listings() {
		want[reflect.TypeOf(m).Elem()] = true
	}
	for _, v := range messages() {
		_, has := reflect.New(reflect.TypeOf(v)).Interface().(wire.Listing)
		if of := reflect.TypeOf(v); has != want[of] {
			t.Errorf("%v has a listing: %v, want %v", of, has, want[of])
		}
	}
}

// TestListings: a listing writes the same bytes as the codec by reflection, and reads them, for random
// content. A field that a listing omits fails it.
func TestListings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, m := range listings() {
		of, read := reflect.TypeOf(m).Elem(), 0
		for range long.Or(300, 5000) {
			v := reflect.New(of)
			randomly(r, v.Elem())
			want, err := wire.AppendByReflection(nil, v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			got, err := wire.AppendMsgPack(nil, v.Interface())
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%#v is written as\n%q, %v, by reflection\n%q", v.Elem(), got, err, want)
			}
			again := reflect.New(of)
			if wire.ReadListing(want, again.Interface().(wire.Listing)) {
				sameRead(t, want, again.Interface())
				read++
			}
		}
		if read < 100 {
			t.Errorf("the listing of %v read %d messages", of, read)
		}
	}
}

// sameRead wants the value that a listing has read from data by reflection too.
func sameRead(t *testing.T, data []byte, got any) {
	t.Helper()
	want := reflect.New(reflect.TypeOf(got).Elem()).Interface()
	if err := wire.DecodeByReflection(data, want, true); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as\n%#v, by reflection\n%#v, %v", data, got, want, err)
	}
}

// damaged returns data with a few bytes changed, left out or repeated.
func damaged(r *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(data))
		switch r.IntN(4) {
		case 0:
			data = append(data[:at:at], data[min(len(data), at+1+r.IntN(4)):]...)
		case 1:
			data = append(data[:at:at], data[max(0, at-r.IntN(20)):]...)
		case 2:
			data[at] ^= 1 << r.IntN(8)
		case 3:
			data[at] = byte(r.Uint32())
		}
		if len(data) == 0 {
			return data
		}
	}
	return data
}

// TestDamagedListings: a listing reads damaged data as the same value as the codec by reflection, or
// not at all; then it leaves nothing behind.
func TestDamagedListings(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, m := range listings() {
		of := reflect.TypeOf(m).Elem()
		for range long.Or(1000, 100000) {
			v := reflect.New(of)
			randomly(r, v.Elem())
			data, err := wire.AppendMsgPack(nil, v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			data = damaged(r, data)
			got := reflect.New(of)
			if wire.ReadListing(data, got.Interface().(wire.Listing)) {
				sameRead(t, data, got.Interface())
			} else if !got.Elem().IsZero() {
				t.Fatalf("%q is not read, and leaves %#v", data, got.Elem())
			}
		}
	}
}

// TestLongListing: a listing refuses a list that is too long, as the codec by reflection does.
func TestLongListing(t *testing.T) {
	for _, n := range []int{wire.MaxElements, wire.MaxElements + 1} {
		r := member.ReplicateRequest{Changes: []member.Table{{Forgotten: make([]string, n)}}}
		for i := range r.Changes[0].Forgotten {
			r.Changes[0].Forgotten[i] = strings.Repeat("n", 20)
		}
		data, err := wire.AppendMsgPack(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		if read := wire.ReadListing(data, new(member.ReplicateRequest)); read != (n <= wire.MaxElements) {
			t.Errorf("a list of %d names: read is %v", n, read)
		}
	}
}

// FuzzListings is TestDamagedListings for any input.
func FuzzListings(f *testing.F) {
	for _, v := range messages() {
		data, err := wire.AppendMsgPack(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range listings() {
			if wire.ReadListing(data, m) {
				sameRead(t, data, m)
			} else if !reflect.ValueOf(m).Elem().IsZero() {
				t.Fatalf("%q is not read, and leaves %#v", data, m)
			}
		}
	})
}

// BenchmarkListings compares an attach request's listing with the codec by reflection.
func BenchmarkListings(b *testing.B) {
	var m *wire.AttachRequest
	for _, v := range messages() {
		if a, ok := v.(wire.AttachRequest); ok {
			m = &a
		}
	}
	data, err := wire.AppendMsgPack(nil, m)
	if err != nil {
		b.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"write":            func() error { _, err := wire.AppendMsgPack(nil, m); return err },
		"write/reflection": func() error { _, err := wire.AppendByReflection(nil, m); return err },
		"read":             func() error { return wire.DecodeTolerant(wire.MsgPack, data, new(wire.AttachRequest)) },
		"read/reflection":  func() error { return wire.DecodeByReflection(data, new(wire.AttachRequest), false) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
