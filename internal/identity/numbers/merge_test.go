package numbers_test

import (
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// TestGreatestRemovedIncarnationIsKept is N3: of two survivors each may know of a removal that the
// other has not heard of, and no later process may have an incarnation at or below either.
func TestGreatestRemovedIncarnationIsKept(t *testing.T) {
	set := func(next, removed uint64) numbers.Registry {
		return numbers.Registry{Sets: []numbers.Set{{Cluster: "c", Name: "s", Next: next, Removed: removed}}}
	}
	for _, c := range [][2]numbers.Registry{
		{set(3, 9), set(5, 2)}, {set(5, 2), set(3, 9)}, {{}, set(5, 9)}, {set(5, 9), {}},
	} {
		if out := c[0].Merge(c[1]).Sets; len(out) != 1 || out[0].Next != 5 || out[0].Removed != 9 {
			t.Errorf("%+v and %+v give %+v, want next 5 and removed 9", c[0], c[1], out)
		}
	}
}

// TestDroppedNumbersAreKept is N2: a survivor that has not heard of the last numbers and of the drop of their set
// does not give them again, nor after a recreation of the set.
func TestDroppedNumbersAreKept(t *testing.T) {
	step := func(r numbers.Registry, c numbers.Command) numbers.Registry {
		t.Helper()
		c.Cluster, c.Name = "c", "s"
		next, _, err := r.Apply(c)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	apply := func(id uint64) numbers.Command {
		return numbers.Command{Apply: &numbers.Application{ID: id, Code: numbers.Code{byte(id)}}}
	}
	first := step(numbers.Registry{}, apply(1))
	second := step(first, apply(2))
	dropped := step(step(second, numbers.Command{Clean: []numbers.Cleaned{{ID: 1}, {ID: 2}}}), numbers.Command{Drop: true})
	third := step(dropped, apply(3))
	for _, c := range []struct {
		a, b numbers.Registry
		want uint64
	}{{first, dropped, 3}, {second, dropped, 3}, {dropped, third, 4}, {first, third, 4}} {
		for _, m := range []numbers.Registry{c.a.Merge(c.b), c.b.Merge(c.a)} {
			if next := m.NextNumber("c", "s"); next != c.want {
				t.Errorf("%+v and %+v: next number %d, not %d", c.a, c.b, next, c.want)
			}
		}
	}
}

// TestMergedSetsAreReadable: sets of two survivors that are too many for one grid continue when they are needed.
func TestMergedSetsAreReadable(t *testing.T) {
	var two [2]numbers.Registry
	for i := range two {
		for n := range numbers.MaxSets {
			c := numbers.Command{Cluster: fmt.Sprint("c", i), Name: fmt.Sprint(n),
				Apply: &numbers.Application{ID: 1, Code: numbers.Code{1}}}
			next, _, err := two[i].Apply(c)
			if err != nil {
				t.Fatal(err)
			}
			two[i] = next
		}
	}
	m := two[0].Merge(two[1])
	if fault := m.SetsFault(numbers.Registry{}); fault != "" {
		t.Fatal(fault)
	}
	for i := range two {
		for n := range numbers.MaxSets {
			if next := m.NextNumber(fmt.Sprint("c", i), fmt.Sprint(n)); next != 2 {
				t.Fatalf("set %d of survivor %d: next number %d, not 2", n, i, next)
			}
		}
	}
}

// TestMergedDropsAreReadable: two survivors have as many sets and dropped sets as a grid may have, and one lacks the
// last drop and the last set. A grid can begin with what they have together, no number is given twice, and a set that
// was dropped before can be dropped again.
func TestMergedDropsAreReadable(t *testing.T) {
	behind := numbers.Registry{}
	for i := range 4095 {
		behind.Dropped = append(behind.Dropped, numbers.Dropped{Set: uint64(i + 1), Next: 2})
	}
	step := func(r numbers.Registry, name string, c numbers.Command) numbers.Registry {
		t.Helper()
		c.Cluster, c.Name = "c", name
		next, _, err := r.Apply(c)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	create := func(r numbers.Registry, name string, id uint64) numbers.Registry {
		r = step(r, name, numbers.Command{Apply: &numbers.Application{ID: id, Code: numbers.Code{1}}})
		return step(r, name, numbers.Command{Clean: []numbers.Cleaned{{ID: id}}})
	}
	for n := range numbers.MaxSets {
		behind = create(behind, fmt.Sprint(n), 1)
	}
	ahead := create(step(behind, "0", numbers.Command{Drop: true}), "new", 1)
	for i, m := range []numbers.Registry{behind.Merge(ahead), ahead.Merge(behind)} {
		if fault := m.SetsFault(numbers.Registry{}); fault != "" {
			t.Errorf("merge %d: %s", i, fault)
		}
		for _, name := range []string{"0", "1", "new"} {
			if next := m.NextNumber("c", name); next != 2 {
				t.Errorf("merge %d: set %s: next number %d, not 2", i, name, next)
			}
		}
		if _, has := m.Set("c", "0"); has {
			m = step(m, "0", numbers.Command{Drop: true})
			if next := m.NextNumber("c", "0"); next != 2 {
				t.Errorf("merge %d: dropped again: next number %d, not 2", i, next)
			}
		}
		if _, _, err := m.Apply(numbers.Command{Cluster: "c", Name: "1", Drop: true}); err == nil {
			t.Errorf("merge %d: more sets are dropped than a grid records", i)
		}
	}
}
