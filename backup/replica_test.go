package backup

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/partition"
	"pgregory.net/rapid"
)

// world is a log of rosters, the replicas that learn of them in any order and
// with any delay, and every table that was ever sent. A model remembers which
// roster each replica may have acted on.
type world struct {
	log      []partition.Partition // by version; each one names an owner
	actors   []*actor
	known    []partition.Version // by replica: the newest roster observed
	heard    []partition.Term    // by replica: the latest term heard of
	served   []map[partition.Term]bool
	sent     []Table[[]string]
	written  map[Position]string // the owner of each position: nobody shares one
	lastHeld []Position
}

var names = []string{"a", "b", "c"}

func newWorld() *world {
	w := &world{log: make([]partition.Partition, 1), written: map[Position]string{}}
	for _, name := range names {
		w.actors = append(w.actors, newActor(name))
		w.served = append(w.served, map[partition.Term]bool{})
	}
	w.known = make([]partition.Version, len(names))
	w.heard = make([]partition.Term, len(names))
	w.lastHeld = make([]Position, len(names))
	return w
}

// TestReplicas runs random appointments, losses, changes and messages, every one
// of which may be seen late, twice or never, and compares each replica with the
// rules written as plainly as possible.
func TestReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(map[string]func(*rapid.T){
			"appoint": w.appoint,
			"observe": w.observe,
			"change":  w.change,
			"send":    w.send,
			"accept":  w.accept,
			"hear":    w.hear,
			"":        w.check,
		})
	})
}

// appoint adds a roster: another owner, with or without a loss, or the same.
func (w *world) appoint(t *rapid.T) {
	version := partition.Version(len(w.log))
	p := w.log[version-1]
	if p.Owner == "" || rapid.Bool().Draw(t, "change of owner") {
		p.Owner = partition.Incarnation(rapid.SampledFrom(names).Draw(t, "owner"))
		p.Term = partition.Term(version)
		p.Floor = partition.Tick(version) * 100
		if p.LostTerm == 0 || rapid.Bool().Draw(t, "loss") {
			p.LostTerm = p.Term
		}
	}
	w.log = append(w.log, p)
}

func (w *world) observe(t *rapid.T) {
	at := drawActor(t)
	version := partition.Version(rapid.IntRange(0, len(w.log)-1).Draw(t, "version"))
	p, a := w.log[version], w.actors[at]
	before, diary := a.replica.Position(), a.diary.Snapshot()
	took := a.replica.Observe(version, p)
	isNew := version > w.known[at]
	if isNew {
		w.known[at] = version
		w.heard[at] = max(w.heard[at], p.Term)
	}
	want := isNew && string(p.Owner) == names[at] && p.Term == w.heard[at] && p.Term > before.Term
	if took != want {
		t.Fatalf("%s took office for %+v of version %d: %v, want %v", names[at], p, version, took, want)
	}
	if !took {
		return
	}
	if w.served[at][p.Term] {
		t.Fatalf("%s took office for term %d twice", names[at], p.Term)
	}
	w.served[at][p.Term] = true
	w.claim(t, at)
	if before.Term < p.LostTerm {
		diary = nil
	}
	if want := append(diary, fmt.Sprintf("floor%d", p.Floor)); !slices.Equal(a.diary.lines, want) {
		t.Fatalf("%s took office at %v for %+v with %v, want %v", names[at], before, p, a.diary.lines, want)
	}
}

func (w *world) change(t *rapid.T) {
	at := drawActor(t)
	if !w.actors[at].replica.Acts() {
		t.Skip()
	}
	before := w.actors[at].replica.Position()
	after := w.actors[at].write(names[at])
	if after != (Position{before.Term, before.Number + 1}) {
		t.Fatalf("%v after %v", after, before)
	}
	w.claim(t, at)
}

// claim notes who made the table of a position. Two who did would have one term
// in common.
func (w *world) claim(t *rapid.T, at int) {
	p := w.actors[at].replica.Position()
	if owner, found := w.written[p]; found {
		t.Fatalf("%s and %s both made %v", owner, names[at], p)
	}
	w.written[p] = names[at]
}

func (w *world) send(t *rapid.T) {
	w.sent = append(w.sent, w.actors[drawActor(t)].replica.Table())
}

func (w *world) accept(t *rapid.T) {
	if len(w.sent) == 0 {
		t.Skip()
	}
	at := drawActor(t)
	table := rapid.SampledFrom(w.sent).Draw(t, "table")
	a := w.actors[at]
	before := a.replica.Position()
	held, err := a.replica.Accept(table)
	term := table.Position.Term
	want := term >= w.heard[at] && table.Position.Compare(before) > 0 && string(w.log[term].Owner) != names[at]
	if (err == nil) != want || held != a.replica.Position() {
		t.Fatalf("%s at %v, newest term %d, was sent %v: %v", names[at], before, w.heard[at], table.Position, err)
	}
	if err != nil {
		if held != before {
			t.Fatalf("refused and went from %v to %v", before, held)
		}
		return
	}
	w.heard[at] = term
	if held != table.Position || !slices.Equal(a.diary.lines, table.State) {
		t.Fatalf("accepted %+v and holds %v %v", table, held, a.diary.lines)
	}
}

func (w *world) hear(t *rapid.T) {
	at := drawActor(t)
	term := w.log[rapid.IntRange(0, len(w.log)-1).Draw(t, "version")].Term
	w.actors[at].replica.Heard(term)
	w.heard[at] = max(w.heard[at], term)
}

// check compares who acts with O1, and that no table ever went back.
func (w *world) check(t *rapid.T) {
	for at, a := range w.actors {
		p := w.log[w.known[at]]
		want := string(p.Owner) == names[at] && w.served[at][p.Term] && w.heard[at] == p.Term
		if a.replica.Acts() != want {
			t.Fatalf("%s acts: %v, want %v by %+v", names[at], !want, want, p)
		}
		held := a.replica.Position()
		if held.Compare(w.lastHeld[at]) < 0 {
			t.Fatalf("%s went from %v to %v", names[at], w.lastHeld[at], held)
		}
		w.lastHeld[at] = held
	}
}

func drawActor(t *rapid.T) int { return rapid.IntRange(0, len(names)-1).Draw(t, "replica") }

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
		func() { a.replica.Observe(1, partition.Partition{Owner: "b", Term: 1, LostTerm: 1}) },
		func() {
			a.replica.Observe(2, partition.Partition{Owner: "a", Term: 2, LostTerm: 2})
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

// TestTableIsACopy: what an owner changes later does not reach into a table it
// sent before.
func TestTableIsACopy(t *testing.T) {
	a := newActor("a")
	a.replica.Observe(1, partition.Partition{Owner: "a", Term: 1, LostTerm: 1})
	before := a.replica.Table()
	a.write("x")
	if len(before.State) != 1 || before.Position != (Position{1, 0}) {
		t.Errorf("%+v", before)
	}
	if _, err := a.replica.Accept(before); !errors.Is(err, ErrOwnTerm) {
		t.Errorf("its own table: %v", err)
	}
}

// ExampleReplica shows an owner and its backup through a promotion.
func ExampleReplica() {
	owner, backup := New(0, "a", &diary{}), New(0, "b", &diary{})
	first := partition.Partition{Owner: "a", Term: 2, Floor: 1000, LostTerm: 2}
	fmt.Println(owner.Observe(2, first), backup.Observe(2, first))

	owner.Changed()
	fmt.Println(backup.Accept(owner.Table()))

	second := partition.Partition{Owner: "b", Term: 3, Floor: 1500, LostTerm: 2}
	fmt.Println(backup.Observe(3, second), backup.Position())

	_, err := backup.Accept(owner.Table())
	fmt.Println(err)

	owner.Heard(3)
	fmt.Println(owner.Acts())
	// Output:
	// true false
	// (2, 1) <nil>
	// true (3, 0)
	// backup: table of an old term: offered (2, 1), held (3, 0), newest term 3
	// false
}
