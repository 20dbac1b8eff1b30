package backup

import (
	"errors"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestOwnerOvertakesATableItDidNotMake sends a copy a table of the current term that its
// owner did not make. The owner must not count it, and the copy must get the owner's table.
func TestOwnerOvertakesATableItDidNotMake(t *testing.T) {
	for name, lead := range map[string]uint64{"one ahead": 1, "as far ahead as is taken": leadMax} {
		t.Run(name, func(t *testing.T) {
			a, b := newActor(durableA), newActor(durableB)
			for _, r := range []*actor{a, b} {
				r.replica.Observe(1, entry(nil, durableA, durableB), roster.Storage{})
			}
			a.write("x")
			deliver(t, a, b)
			forged := diaryUpdate{Version: 1, Position: Position{Term: 1, Number: a.replica.Position().Number + lead},
				Whole: &[]string{"forged"}}
			if _, err := b.replica.Accept(forged); err != nil {
				t.Fatal(err)
			}
			a.replica.Acknowledged(b.name, 1, b.replica.Position())
			if a.replica.AllAcknowledged(a.replica.Position().Number) {
				t.Error("a table that the owner did not make counts")
			}
			a.write("y")
			number := a.replica.Position().Number
			deliver(t, a, b)
			if !a.replica.AllAcknowledged(number) {
				t.Errorf("owner at %v, copy at %v: the copy does not count", a.replica.Position(), b.replica.Position())
			}
			if got, want := b.diary.lines, a.diary.lines; !slices.Equal(got, want) {
				t.Errorf("the copy has %v, the owner %v", got, want)
			}
		})
	}
}

// TestNumbersOutOfReach: tables with a number that no owner reaches are refused, so that an
// owner can always exceed the number of a copy.
func TestNumbersOutOfReach(t *testing.T) {
	b := newActor(durableB)
	b.replica.Observe(1, entry(nil, durableA, durableB), roster.Storage{})
	table := func(number uint64) error {
		_, err := b.replica.Accept(diaryUpdate{Version: 1, Position: Position{Term: 1, Number: number},
			Whole: &[]string{"x"}})
		return err
	}
	if err := table(numberMax + 1); !errors.Is(err, ErrNumber) {
		t.Errorf("above every number: %v", err)
	}
	if err := table(5); err != nil { // a copy without a table takes it at any number below
		t.Fatal(err)
	}
	if err := table(5 + leadMax + 1); !errors.Is(err, ErrNumber) {
		t.Errorf("too far ahead: %v", err)
	}
	if err := table(5 + leadMax); err != nil {
		t.Error(err)
	}
	a := newActor(durableA)
	a.replica.Observe(1, entry(nil, durableA, durableB), roster.Storage{})
	want := a.write("x")
	for _, number := range []uint64{numberMax, 1<<64 - 1} {
		a.replica.Acknowledged(durableB, 1, Position{Term: 1, Number: number})
		if p := a.replica.Position(); p != want {
			t.Fatalf("the owner follows a report of number %d to %v", number, p)
		}
	}
}

// deliver sends a copy what its owner has for it, and the owner its answer.
func deliver(t *testing.T, from, to *actor) {
	t.Helper()
	u, due := from.replica.Update(to.name)
	if !due {
		return
	}
	if _, err := to.replica.Accept(u); err != nil {
		t.Fatal(err)
	}
	from.replica.Acknowledged(to.name, u.Version, to.replica.Position())
}
