package numbers_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// wantReadable fails the test unless a member reads the roster as it is.
func wantReadable(t rapid.TB, r *roster.Roster) {
	t.Helper()
	data, err := wire.EncodeRoster(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := wire.DecodeRoster(data)
	if err != nil {
		t.Fatalf("no member reads %+v: %v", r, err)
	}
	if twice, err := wire.EncodeRoster(again); err != nil || !bytes.Equal(twice, data) {
		t.Fatalf("a member reads %+v, %v, from\n%+v", again, err, r)
	}
}

// TestIncarnationOfTheCallerIsBounded: a caller cannot take a number to an incarnation that
// has no successor, in any number of steps that differ little from each other.
func TestIncarnationOfTheCallerIsBounded(t *testing.T) {
	for _, stated := range []uint64{1<<20 + 1, 1 << 32, 1<<53 - 2, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64,
		math.MaxUint64 - 1, math.MaxUint64} {
		n := newNumbering(t)
		if err := n.apply(1, 7); err != nil {
			t.Fatal(err)
		}
		g := numbers.Registration{ID: 1, Code: numbers.Code{7}, Start: numbers.Code{1}, Incarnation: stated}
		if err := n.do(numbers.Command{Register: &g}); !errors.Is(err, numbers.ErrRefused) {
			t.Errorf("incarnation %d: %v", stated, err)
		}
		if inc, err := n.register(1, 7, 9); inc != 1 || err != nil {
			t.Errorf("the first process after incarnation %d: %d, %v", stated, inc, err)
		}
		wantReadable(t, n.r)
	}
	n := newNumbering(t)
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	ahead := numbers.Registration{ID: 1, Code: numbers.Code{7}, Start: numbers.Code{1}, Incarnation: 1 << 20}
	if err := n.do(numbers.Command{Register: &ahead}); err != nil {
		t.Errorf("an incarnation that the grid may have lost: %v", err)
	}
}

// TestLastIncarnationIsRefused: an earlier release stored incarnations near the greatest one.
func TestLastIncarnationIsRefused(t *testing.T) {
	n := newNumbering(t)
	n.r = formed(t, numbers.Registry{Sets: []numbers.Set{{Cluster: "c", Name: "web", Next: 2, Members: []numbers.Process{
		{ID: 1, Code: numbers.Code{7}, Incarnation: numbers.MaxNumber - 1, Start: numbers.Code{1}},
	}}}})
	for start := byte(2); start < 5; start++ {
		if inc, err := n.register(1, 7, start); !errors.Is(err, numbers.ErrRefused) {
			t.Errorf("incarnation %d, %v", inc, err)
		}
		wantReadable(t, n.r)
	}
	if err := n.do(numbers.Command{Clean: []numbers.Cleaned{{ID: 1, Incarnation: numbers.MaxNumber - 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := n.do(numbers.Command{Import: &numbers.Imported{Numbers: []numbers.Application{{ID: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if inc, err := n.register(1, 7, 9); !errors.Is(err, numbers.ErrRefused) {
		t.Errorf("after a clean: incarnation %d, %v", inc, err)
	}
	wantReadable(t, n.r)
}

// extremes are the numbers at the edges of what fields and readers hold.
var extremes = []uint64{0, 1, 2, 3, 1 << 20, 1<<20 + 1, 1<<53 - 2, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64,
	1 << 63, math.MaxUint64 - 1, math.MaxUint64}

// TestHostileStepsLeaveReadableRosters runs steps with values at the edges of what fields
// hold: each roster is read again, whatever was accepted.
func TestHostileStepsLeaveReadableRosters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNumbering(t)
		names := rapid.SampledFrom([]string{"web", "a", "", "\u202e", strings.Repeat("x", numbers.MaxSetName),
			strings.Repeat("x", numbers.MaxSetName+1), "a\x00", "\xff"})
		number := rapid.OneOf(rapid.SampledFrom(extremes), rapid.Uint64Range(0, 4), rapid.Uint64())
		code := rapid.Custom(func(t *rapid.T) numbers.Code { return numbers.Code{rapid.ByteRange(0, 3).Draw(t, "code")} })
		member := rapid.SampledFrom([]string{"", "m1", "00000000000000aa", "00000000000000AA"})
		rt.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { wantReadable(t, n.r) },
			"step": func(t *rapid.T) {
				before := n.r
				c := numbers.Command{Cluster: names.Draw(t, "cluster"), Name: names.Draw(t, "name")}
				app := numbers.Application{ID: number.Draw(t, "id"), Code: code.Draw(t, "code"), Addr: names.Draw(t, "addr")}
				switch rapid.IntRange(0, 4).Draw(t, "kind") {
				case 0:
					c.Apply = &app
				case 1:
					c.Register = &numbers.Registration{ID: app.ID, Code: app.Code, Addr: app.Addr, Start: code.Draw(t, "start"),
						Member: member.Draw(t, "member"), Incarnation: number.Draw(t, "incarnation")}
				case 2:
					c.Clean = []numbers.Cleaned{{ID: app.ID, Incarnation: number.Draw(t, "incarnation")}}
				case 3:
					c.Drop = true
				default:
					c.Import = &numbers.Imported{Next: number.Draw(t, "next"), Numbers: []numbers.Application{app}}
				}
				_ = n.do(c) // refused or not
				for _, s := range before.Sets {
					if next := n.r.NextNumber(s.Cluster, s.Name); next < s.Next {
						t.Fatalf("%+v took the next number of %s/%s from %d back to %d", c, s.Cluster, s.Name, s.Next, next)
					}
				}
			},
		})
	})
}

// TestDroppedSetsContinue: a set that is dropped makes room, and one of its name gives no number
// again and no incarnation; neither does one in a recovered grid.
func TestDroppedSetsContinue(t *testing.T) {
	n := newNumbering(t)
	drop := numbers.Command{Drop: true}
	if err := n.do(drop); !errors.Is(err, numbers.ErrUnknownSet) {
		t.Errorf("a set that does not exist: %v", err)
	}
	if err := errors.Join(n.apply(1, 7), n.apply(2, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.register(2, 8, 1); err != nil {
		t.Fatal(err)
	}
	if err := n.do(drop); !errors.Is(err, numbers.ErrRefused) || !strings.Contains(err.Error(), "identity clean") {
		t.Errorf("a set with numbers: %v", err)
	}
	clean := numbers.Command{Clean: []numbers.Cleaned{{ID: 1}, {ID: 2, Incarnation: 1}}}
	if err := errors.Join(n.do(clean), n.do(drop), n.do(drop)); err != nil {
		t.Fatal(err)
	}
	if _, found := n.r.Set("c", "web"); found || len(n.r.Dropped) != 1 || n.r.NextNumber("c", "web") != 3 {
		t.Errorf("after the drop: %+v, %+v", n.r.Sets, n.r.Dropped)
	}
	if err := n.r.CheckIdentity("c", "web", 2, 1); !errors.Is(err, numbers.ErrNotRegistered) {
		t.Errorf("a process with a number of it: %v", err)
	}
	for _, r := range []*roster.Roster{n.r, formed(t, numbers.Registry{Dropped: n.r.Dropped})} {
		n.r = r
		wantReadable(t, n.r)
		wantIDRefused(t, n.apply(1, 7), 3)
		if err := n.apply(3, 9); err != nil {
			t.Error(err)
		}
		if err := n.do(numbers.Command{Import: &numbers.Imported{Numbers: []numbers.Application{{ID: 2,
			Code: numbers.Code{8}}}}}); err != nil {
			t.Error(err)
		}
		if inc, err := n.register(2, 8, 5); inc != 2 || err != nil {
			t.Errorf("a restored number has incarnation %d, %v", inc, err)
		}
	}
	disordered := numbers.Registry{Dropped: []numbers.Dropped{{Set: 2, Next: 1}, {Set: 1, Next: 1}}}
	if disordered.SetsFault(numbers.Registry{}) == "" {
		t.Error("dropped sets that are out of order have no fault")
	}
	merged := numbers.Registry{Dropped: []numbers.Dropped{{Set: 1, Next: 5}}}.Merge(
		numbers.Registry{Dropped: []numbers.Dropped{{Set: 1, Next: 4, Removed: 2}, {Set: 0, Next: 3}}})
	if len(merged.Dropped) != 2 || merged.Dropped[1] != (numbers.Dropped{Set: 1, Next: 5, Removed: 2}) {
		t.Errorf("merged: %+v", merged)
	}
}
