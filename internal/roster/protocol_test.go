//go:build nextrelease

package roster_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestProtocolIsRaisedAndLowered: by a change alone, to a protocol that there is.
func TestProtocolIsRaisedAndLowered(t *testing.T) {
	r := rostertest.Formed(t, 2, roster.DefaultWindow)
	if r.Protocol != 0 || r.InUse() != roster.Protocol1 {
		t.Fatalf("a new grid that uses nothing new has protocol %d", r.Protocol)
	}
	change := func(r *roster.Roster, p roster.Protocol) (*roster.Roster, error) {
		return r.Apply(roster.Command{From: r.Version, Change: &roster.Change{Protocol: p}})
	}
	for _, p := range []roster.Protocol{-1, roster.Protocol1, roster.CurrentProtocol + 1} {
		next, err := change(r, p)
		if !errors.Is(err, roster.ErrRefused) || next != r || !strings.Contains(err.Error(), "supports 1 to 2") {
			t.Errorf("protocol %d after 1: %v", p, err)
		}
	}
	raised, err := change(r, roster.Protocol2)
	if err != nil || raised.InUse() != roster.Protocol2 || raised.Version != r.Version+1 {
		t.Fatalf("%+v, %v", raised, err)
	}
	if _, err := change(raised, roster.Protocol2); !errors.Is(err, roster.ErrRefused) {
		t.Errorf("protocol 2 after 2: %v", err)
	}
	// A command of the version before, as a join that the leader judged by protocol 1.
	if _, err := raised.Apply(roster.Command{From: r.Version, Change: &roster.Change{Window: 20_000}}); !errors.Is(err,
		roster.ErrStale) {
		t.Errorf("a change that was computed before the raise: %v", err)
	}
	lowered, err := change(raised, roster.Protocol1)
	if err != nil || lowered.Protocol != 0 {
		t.Fatalf("%+v, %v", lowered, err)
	}
}

// TestNewFieldsNeedTheirProtocol: a field that the release of an older protocol does not
// have is never in an entry which that release reads. testdata has those of
// protocol 1.
func TestNewFieldsNeedTheirProtocol(t *testing.T) {
	since := map[string]roster.Protocol{}
	data, err := os.ReadFile("testdata/protocol1.fields")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(data)) {
		since[name] = roster.Protocol1
	}
	seen := map[string]bool{}
	for name, of := range map[string]struct {
		value reflect.Type
		needs func(reflect.Value) (roster.Protocol, string)
	}{
		"Command": {reflect.TypeFor[roster.Command](), func(v reflect.Value) (roster.Protocol, string) {
			return v.Interface().(roster.Command).Needs()
		}},
		"Roster": {reflect.TypeFor[roster.Roster](), func(v reflect.Value) (roster.Protocol, string) {
			r := v.Interface().(roster.Roster)
			if r.Protocol != 0 { // the number itself: package wire writes it by the format of the number
				return r.Protocol, "number"
			}
			return r.Needs()
		}},
	} {
		for _, path := range fieldPaths(of.value, name) {
			seen[path.name] = true
			v := reflect.New(of.value).Elem()
			path.set(v)
			needed, part := of.needs(v)
			want, isOld := since[path.name]
			if !isOld {
				want = roster.Protocol2
			}
			if needed != want || (part == "") != (want == roster.Protocol1) {
				t.Errorf("%s: needs protocol %d (%q), want %d", path.name, needed, part, want)
			}
		}
	}
	for name, p := range since {
		if !seen[name] {
			t.Errorf("%s of protocol %d is gone", name, p)
		}
	}
}

// fieldPath is one field of a message, by way of the structs, lists and pointers to it.
type fieldPath struct {
	name string
	way  []int
}

// fieldPaths returns the fields in t that have no fields themselves.
func fieldPaths(t reflect.Type, name string) (out []fieldPath) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []fieldPath{{name: name}}
	}
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		at := name + "." + tag
		if t.Field(i).Anonymous { // its fields are those of the message itself
			at = name
			if t.Field(i).Type.NumField() == 0 {
				continue
			}
		}
		for _, below := range fieldPaths(t.Field(i).Type, at) {
			out = append(out, fieldPath{below.name, append([]int{i}, below.way...)})
		}
	}
	return out
}

// set makes the field another one than zero, and so all on the way to it.
func (p fieldPath) set(v reflect.Value) {
	for _, i := range append(p.way, -1) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			if v.Kind() == reflect.Pointer {
				v.Set(reflect.New(v.Type().Elem()))
				v = v.Elem()
			} else {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				v = v.Index(0)
			}
		}
		if i >= 0 {
			v = v.Field(i)
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Array:
		v.Index(0).SetUint(1)
	default:
		if v.CanInt() {
			v.SetInt(2)
		} else {
			v.SetUint(2)
		}
	}
}
