package backup

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

func TestPositionCompare(t *testing.T) {
	sorted := []Position{{}, {0, 1}, {1, 0}, {1, 9}, {2, 3}}
	for i, p := range sorted {
		for j, q := range sorted {
			if got, want := p.Compare(q), min(1, max(-1, i-j)); got != want {
				t.Errorf("%v to %v: %d, want %d", p, q, got, want)
			}
		}
	}
}

// TestChangedPanics: a change by one who does not act is a broken invariant.
func TestChangedPanics(t *testing.T) {
	a := newActor("a")
	for _, end := range []func(){
		func() {},
		func() { a.replica.Observe(1, roster.Partition{Owner: "b", Term: 1, LostTerm: 1}, roster.Storage{}) },
		func() {
			a.replica.Observe(2, roster.Partition{Owner: "a", Term: 2, LostTerm: 2}, roster.Storage{})
			a.replica.Heard(3)
		},
	} {
		end()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			a.replica.Changed()
		}()
	}
}

// owning gives an owner with a backup that has the table of the term.
func owning(t *testing.T) *actor {
	t.Helper()
	a := newActor("a")
	a.replica.Observe(1, roster.Partition{Owner: "a", InSync: []roster.Incarnation{"a", "b"}, Term: 1, LostTerm: 1},
		roster.Storage{})
	a.replica.Acknowledged("b", 1, Position{1, 0})
	return a
}

// TestUpdateIsACopy: what an owner changes later does not reach into an update it
// sent before, whole or in changes, nor is its own update one that it accepts.
func TestUpdateIsACopy(t *testing.T) {
	a := owning(t)
	whole, _ := a.replica.Update("c")
	a.write("x")
	changes, _ := a.replica.Update("b")
	for n := range 3 * changesKept {
		a.write(fmt.Sprint(n))
	}
	if !slices.Equal(*whole.Whole, []string{"floor0"}) || whole.Position != (Position{1, 0}) {
		t.Errorf("%+v", whole)
	}
	if len(changes.Changes) != 1 || !slices.Equal(changes.Changes[0], []string{"x"}) ||
		changes.Position != (Position{1, 1}) {
		t.Errorf("%+v", changes)
	}
	for _, u := range []diaryUpdate{whole, changes} {
		if held, err := a.replica.Accept(u); !errors.Is(err, ErrOwnTerm) || held != a.replica.Position() ||
			!a.replica.Acts() {
			t.Errorf("its own update: %v, %v", held, err)
		}
	}
}

// TestChangesKept: a replica that is slightly behind gets each change that it lacks, and one
// that is further behind the whole table. The number of kept changes is bounded.
func TestChangesKept(t *testing.T) {
	for _, written := range []uint64{1, changesKept, 2*changesKept - 1, 2 * changesKept, 5*changesKept + 7} {
		a := owning(t)
		for n := range written {
			a.write(fmt.Sprint(n + 1))
		}
		if kept := len(a.replica.changes); kept < min(int(written), changesKept) || kept >= 2*changesKept {
			t.Errorf("of %d changes %d are kept", written, kept)
		}
		kept := uint64(len(a.replica.changes))
		distances := []uint64{written, written - 1, kept + 1, kept, kept - 1, written / 2, 1, 0}
		slices.Sort(distances)
		slices.Reverse(distances) // acknowledged changes are no longer kept
		for _, behind := range distances {
			if behind > written {
				continue
			}
			a.replica.Behind("b")
			a.replica.Acknowledged("b", 1, Position{1, written - behind})
			if left := uint64(len(a.replica.changes)); left != min(behind, kept) {
				t.Errorf("%d behind of %d: %d changes are kept", behind, written, left)
			}
			u, due := a.replica.Update("b")
			switch {
			case due != (behind > 0), due && (u.Whole == nil) != (behind <= kept):
				t.Fatalf("%d behind of %d: due %v, whole %v", behind, written, due, u.Whole != nil)
			case !due || u.Whole != nil:
				continue
			case u.Since != written-behind || uint64(len(u.Changes)) != behind:
				t.Fatalf("%d behind of %d: after %d %d changes", behind, written, u.Since, len(u.Changes))
			}
			for i, c := range u.Changes {
				if want := fmt.Sprint(u.Since + uint64(i) + 1); !slices.Equal(c, []string{want}) {
					t.Fatalf("%d behind of %d: change %d is %v, want %s", behind, written, i, c, want)
				}
			}
		}
	}
}

// TestChangesAreKeptForAJoiner: changes after the table that is being sent to a joining
// replica are kept although all other replicas have them; otherwise whole tables would be
// sent again and again.
func TestChangesAreKeptForAJoiner(t *testing.T) {
	a := owning(t)
	a.replica.Observe(2, roster.Partition{Owner: "a", InSync: []roster.Incarnation{"a", "b"}, Joining: "c", Term: 1,
		LostTerm: 1}, roster.Storage{})
	a.write("x")
	a.replica.Acknowledged("b", 2, Position{1, 1})
	a.write("y")
	a.replica.Acknowledged("b", 2, Position{1, 2})
	a.replica.Acknowledged("c", 2, Position{1, 1})
	u, due := a.replica.Update("c")
	if !due || u.Whole != nil || u.Since != 1 || len(u.Changes) != 1 {
		t.Errorf("%v: %+v, want the change after 1", due, u)
	}
	a.replica.Acknowledged("c", 2, Position{1, 2})
	if left := len(a.replica.changes); left != 0 {
		t.Errorf("%d changes are kept that every replica has", left)
	}
}

// TestAcknowledged compares an owner's count of acknowledgements with the rules in their
// plainest form, for any acknowledgements in any order.
func TestAcknowledged(t *testing.T) {
	names := []roster.Incarnation{"b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		a := newActor("a")
		const term = 3
		p := roster.Partition{Owner: "a", Term: term, LostTerm: 1}
		said := map[roster.Incarnation]map[roster.Version]uint64{} // the largest number by version
		var version roster.Version = term
		var mark uint64
		for range rapid.IntRange(30, 80).Draw(t, "steps") {
			switch i := rapid.SampledFrom(names).Draw(t, "name"); rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				version++
				p.InSync = []roster.Incarnation{"a"}
				p.InSync = append(p.InSync, rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID).Draw(t, "in sync")...)
				p.Joining = ""
				if !slices.Contains(p.InSync, i) && rapid.Bool().Draw(t, "joins") {
					p.Joining = i
				}
				a.replica.Observe(version, p, roster.Storage{})
				mark = a.replica.Position().Number
			case 1:
				if a.replica.Acts() {
					a.write("x")
				}
			case 2:
				a.replica.Behind(i)
				delete(said, i)
			default:
				at := version - min(version, roster.Version(rapid.IntRange(0, 2).Draw(t, "earlier")))
				held := Position{term - roster.Term(rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "terms before")),
					rapid.Uint64Range(0, a.replica.Position().Number+1).Draw(t, "number")}
				before := a.replica.Position().Number
				a.replica.Acknowledged(i, at, held)
				if ahead := a.replica.Acts() && held.Term == term && held.Number > before; ahead {
					if p := a.replica.Position(); p.Number != held.Number+1 {
						t.Fatalf("at %v after a report of %v", p, held)
					}
				}
				if a.replica.Acts() && held.Term == term && held.Number <= before {
					if said[i] == nil {
						said[i] = map[roster.Version]uint64{}
					}
					said[i][at] = max(said[i][at], held.Number)
				}
			}
			compareSaid(t, a, p, said, version, mark)
		}
	})
}

// compareSaid compares an owner with the acknowledgements: of each replica those of the
// latest version count.
func compareSaid(t *rapid.T, a *actor, p roster.Partition, said map[roster.Incarnation]map[roster.Version]uint64,
	version roster.Version, mark uint64) {
	acts := a.replica.Acts()
	for number := range a.replica.Position().Number + 2 {
		want := acts
		for _, i := range append(slices.Clone(p.InSync), p.Joining) {
			var latest roster.Version
			for v := range said[i] {
				latest = max(latest, v)
			}
			if most, found := said[i][latest]; i != "a" && i != "" && (!found || most < number) {
				want = false
			}
		}
		if got := a.replica.AllAcknowledged(number); got != want {
			t.Fatalf("holds %d: %v, want %v; %+v, said %v", number, got, want, p, said)
		}
	}
	most, found := said[p.Joining][version]
	want := acts && p.Joining != "" && found && most >= mark
	h, got := a.replica.Admission()
	if got != want {
		t.Fatalf("admits: %v, want %v, at %d with mark %d; %+v, said %v", got, want, version, mark, p, said)
	}
	if exactly := (roster.Holding{Replica: roster.Replica{Partition: 7, Member: p.Joining}, Version: version}); got &&
		h != exactly {
		t.Fatalf("admits %+v, want %+v", h, exactly)
	}
}

// TestAdmissionNeedsAName: without a joining replica none is admitted.
func TestAdmissionNeedsAName(t *testing.T) {
	a := owning(t)
	a.replica.Acknowledged("", 1, Position{1, 0})
	if h, ready := a.replica.Admission(); ready {
		t.Errorf("%+v", h)
	}
}

// ExampleReplica shows an owner and its backup through a promotion.
func ExampleReplica() {
	owner := New[[]string, []string](0, "a", &diary{})
	backup := New[[]string, []string](0, "b", &diary{})
	both := []roster.Incarnation{"a", "b"}
	first := roster.Partition{Owner: "a", InSync: both, Term: 2, Floor: 1000, LostTerm: 2}
	fmt.Println(owner.Observe(2, first, roster.Storage{}), backup.Observe(2, first, roster.Storage{}))

	changed := owner.Changed()
	fmt.Println(owner.AllAcknowledged(changed.Number))

	u, _ := owner.Update("b")
	held, err := backup.Accept(u)
	fmt.Println(held, err)
	owner.Acknowledged("b", u.Version, held)
	fmt.Println(owner.AllAcknowledged(changed.Number))

	second := roster.Partition{Owner: "b", InSync: both, Term: 3, Floor: 1500, LostTerm: 2}
	fmt.Println(backup.Observe(3, second, roster.Storage{}), backup.Position())

	owner.Changed()
	u, _ = owner.Update("b")
	_, err = backup.Accept(u)
	fmt.Println(err)

	owner.Heard(backup.Newest())
	fmt.Println(owner.Acts())
	// Output:
	// true false
	// false
	// (2, 1) <nil>
	// true
	// true (3, 0)
	// backup: table of an old term: update (2, 2), table (3, 0), newest term 3
	// false
}
