package partition

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// followed is a world in which the present owner has a copy of its table, made only from
// the changes that were sent. A new owner continues with the copy.
type followed struct {
	*world
	copied *Table
	sent   []TableChange // not applied yet, in order
	seen   map[string]int
}

// TestChangesMakeACopy: whatever operations go into a change, and however many
// changes arrive together, the copy is the original but for the ends of grants that
// were only extended. It starts a term with all grants: the world's ledger detects a
// timestamp that is granted twice.
func TestChangesMakeACopy(t *testing.T) {
	operations := map[string]func(*followed, *rapid.T){
		"time":     func(f *followed, t *rapid.T) { f.passTime(t) },
		"raise":    func(f *followed, t *rapid.T) { f.raise(t) },
		"learn":    func(f *followed, t *rapid.T) { f.learn(t) },
		"create":   func(f *followed, t *rapid.T) { f.create(t) },
		"repeat":   (*followed).createAgain,
		"attach":   func(f *followed, t *rapid.T) { f.attach(t) },
		"again":    func(f *followed, t *rapid.T) { f.attachAgain(t) },
		"renew":    func(f *followed, t *rapid.T) { f.renew(t) },
		"known":    func(f *followed, t *rapid.T) { f.known(t) },
		"detach":   func(f *followed, t *rapid.T) { f.detach(t) },
		"expire":   func(f *followed, t *rapid.T) { f.expire(t) },
		"destroy":  func(f *followed, t *rapid.T) { f.destroy(t) },
		"fold":     func(f *followed, t *rapid.T) { f.fold(t) },
		"takeover": func(f *followed, t *rapid.T) { f.promote(t, false) },
		"loss":     func(f *followed, t *rapid.T) { f.promote(t, true) },
	}
	often := []string{"create", "raise", "learn", "renew", "renew", "expire", "destroy", "time", "fold", "takeover"}
	for range 3 {
		often = append(often, "attach", "renew", "raise", "learn", "detach")
	}
	for name := range operations {
		often = append(often, name)
	}
	slices.Sort(often)
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		f := &followed{world: &world{ceiling: 10, ledger: map[place][]right{}}, copied: NewTable(), seen: seen}
		f.newOwner(true)
		f.copied.BecomeOwner(f.ceiling, true, true)
		for range rapid.IntRange(100, 200).Draw(t, "operations") {
			operations[rapid.SampledFrom(often).Draw(t, "operation")](f, t)
			f.check(t)
			if rapid.Bool().Draw(t, "change") {
				f.note()
			}
			if rapid.Bool().Draw(t, "apply") {
				f.catchUp(t)
			}
		}
	})
	for _, what := range []string{"forgotten", "destroyed", "extended", "adopted", "takeover", "loss", "several"} {
		if seen[what] == 0 {
			t.Errorf("never seen: %s", what)
		}
	}
}

// note puts the changes of the owner into one more change.
func (f *followed) note() {
	c := f.newest().table.Change()
	for _, name := range c.Forgotten {
		if !slices.ContainsFunc(c.Records, func(r RecordState) bool { return r.Ref.Definition.Name() == name }) {
			f.seen["forgotten"]++
		}
	}
	for _, r := range c.Records {
		if r.Destroyed {
			f.seen["destroyed"]++
		}
		if len(r.Slots) > 1 {
			f.seen["several"]++
		}
		if r.Ref.Born.Term < f.lostTerm {
			f.seen["adopted"]++
		}
	}
	f.sent = append(f.sent, c)
}

// catchUp brings the copy to where the owner is, and compares them.
func (f *followed) catchUp(t *rapid.T) {
	f.note()
	for _, c := range f.sent {
		f.copied.Apply(c)
	}
	f.sent = nil
	checkCensus(t, f.copied)
	want, got := f.newest().table.Snapshot(), f.copied.Snapshot()
	if !reflect.DeepEqual(want, got) {
		f.seen["extended"]++ // and the copy was not told
	}
	if !reflect.DeepEqual(withoutFree(want), withoutFree(got)) {
		t.Fatalf("the copy differs:\n%+v\n%+v", want, got)
	}
	if c := f.newest().table.Change(); len(c.Records)+len(c.Forgotten) > 0 {
		t.Fatalf("changed, and nothing happened: %+v", c)
	}
}

// promote gives the copy to the next owner.
func (f *followed) promote(t *rapid.T, lost bool) {
	f.catchUp(t)
	before := f.newest().table.Snapshot()
	f.newest().backups = f.copied.Snapshot()
	f.newOwner(lost)
	f.copied.BecomeOwner(f.ceiling, lost, true)
	if got, want := f.copied.Snapshot(), f.newest().table.Snapshot(); !reflect.DeepEqual(got, want) {
		t.Fatalf("two copies became the owner differently:\n%+v\n%+v", got, want)
	}
	if lost {
		f.seen["loss"]++
		return
	}
	f.seen["takeover"]++
	for _, r := range before.Records {
		for _, s := range r.Slots {
			f.checkKept(t, r.Ref, s)
		}
	}
}

// checkKept holds the new owner's view of a node against the old owner's: as free
// or later, and with the same attachment, whose next grant contains all it had.
func (f *followed) checkKept(t *rapid.T, ref attachment.Ref, had SlotState) {
	got := f.copied.records[ref.Definition.Name()].slot(had.Node)
	if got == nil || got.ID != had.ID || got.From != had.From || got.Free < had.Free {
		t.Fatalf("node %d of %v was %+v and is %+v after the takeover", had.Node, ref.Definition, had, got)
	}
	if had.ID.IsZero() {
		return
	}
	twin := NewTable()
	twin.Restore(f.copied.Snapshot())
	a, changed, err := twin.Renew(Claim{Ref: ref, ID: had.ID, Preference: attachment.Preference{Node: had.Node}},
		Bounds{Now: f.now, Ceiling: f.ceiling})
	if err != nil || changed || a.Node != had.Node || a.Grant.From != had.From {
		t.Fatalf("%+v is renewed after the takeover with %+v, %v, %v", had, a, changed, err)
	}
}

// createAgain is a late copy of an earlier create.
func (f *followed) createAgain(t *rapid.T) {
	if len(f.lives) == 0 {
		return
	}
	ref := rapid.SampledFrom(f.lives).Draw(t, "life")
	f.on(t, func(o *owner, b Bounds) (bool, error) {
		_, changed, err := o.table.Create(ref, b.Now)
		return changed, err
	})
}

// pair is an original and its copy.
type pair struct {
	original, copied *Table
	ref              attachment.Ref
}

func newPair(t *testing.T) *pair {
	t.Helper()
	def, err := sequencer.Define("orders", sequencer.Config{Nodes: 128, Epoch: epoch.UnixMilli(0)})
	if err != nil {
		t.Fatal(err)
	}
	return &pair{NewTable(), NewTable(), attachment.Ref{Definition: def, Life: attachment.Life(identity("first")),
		Born: attachment.Revision{Term: 1, Number: 1}}}
}

func (p *pair) create(t *testing.T) {
	t.Helper()
	if _, changed, err := p.original.Create(p.ref, 0); err != nil || !changed {
		t.Fatal(changed, err)
	}
}

func (p *pair) attach(t *testing.T, letters string, node sequencer.NodeID, ceiling clustertime.Tick) {
	t.Helper()
	c := Claim{Ref: p.ref, ID: attachmentID(letters), Preference: attachment.Preference{Node: node},
		Trust: Trust{Forgotten: true, Before: true}}
	if _, changed, err := p.original.Attach(c, Bounds{Ceiling: ceiling}); err != nil || !changed {
		t.Fatal(changed, err)
	}
}

func (p *pair) destroy(t *testing.T) {
	t.Helper()
	if err := p.original.Destroy(p.ref); err != nil {
		t.Fatal(err)
	}
}

// same sends what changed and compares.
func (p *pair) same(t *testing.T) {
	t.Helper()
	p.copied.Apply(p.original.Change())
	if want, got := p.original.Snapshot(), p.copied.Snapshot(); !reflect.DeepEqual(want, got) {
		t.Errorf("the copy differs:\n%+v\n%+v", want, got)
	}
}

// TestChangeReplacesARecord: the earlier state of a name does not stay in the copy when its
// record was started again between two changes, with the same life or another.
func TestChangeReplacesARecord(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(*testing.T, *pair)
	}{
		{"destroyed", func(t *testing.T, p *pair) { p.destroy(t) }},
		{"destroyed and folded", func(t *testing.T, p *pair) { p.destroy(t); p.original.Fold(100, 0) }},
		{"created again", func(t *testing.T, p *pair) {
			p.destroy(t)
			p.ref.Life = attachment.Life(identity("second"))
			p.create(t)
			p.attach(t, "c", 3, 200)
		}},
		{"created again with the same life", func(t *testing.T, p *pair) { p.destroy(t); p.create(t) }},
		{"folded and adopted", func(t *testing.T, p *pair) {
			p.destroy(t)
			p.original.Fold(100, 0)
			p.attach(t, "c", 3, 200)
		}},
		{"replaced by a later life", func(t *testing.T, p *pair) {
			p.destroy(t)
			p.original.Fold(100, 0)
			p.attach(t, "c", 2, 200) // an adopted life can be replaced
			p.same(t)
			p.ref.Life, p.ref.Born = attachment.Life(identity("second")), attachment.Revision{Term: 2}
			p.attach(t, "c", 2, 200)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPair(t)
			p.create(t)
			p.attach(t, "a", 1, 100)
			p.attach(t, "b", 2, 100)
			p.same(t)
			test.end(t, p)
			p.same(t)
		})
	}
}

// TestChangeHoldsWhatWasTouched: the slots touched and no others, each once, nodes
// and names ascending, and nothing for a grant that was only extended.
func TestChangeHoldsWhatWasTouched(t *testing.T) {
	p := newPair(t)
	p.create(t)
	for i, node := range []sequencer.NodeID{9, 4, 7} {
		p.attach(t, fmt.Sprint("h", i), node, 100)
	}
	p.same(t)
	release := attachment.Release{ID: attachmentID("h2"), Node: 7, LastUsed: 50}
	if !p.original.Detach(p.ref, release) || !p.original.Expire("orders", 4, attachmentID("h1"), 0) {
		t.Fatal("not detached")
	}
	p.attach(t, "h3", 7, 120)
	got := p.original.Change()
	want := TableChange{Records: []RecordState{{Ref: p.ref, Slots: []SlotState{
		{Node: 4, From: 0, Free: 100},
		{Node: 7, ID: attachmentID("h3"), From: 51, Free: 120},
	}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("changed\n%+v, want\n%+v", got, want)
	}
	c := Claim{Ref: p.ref, ID: attachmentID("h3"), Preference: attachment.Preference{Node: 7}}
	if _, changed, err := p.original.Renew(c, Bounds{Ceiling: 300}); changed || err != nil {
		t.Fatal(changed, err)
	}
	p.original.Extend(Bounds{Ceiling: 400})
	if got := p.original.Change(); !reflect.DeepEqual(got, TableChange{}) {
		t.Errorf("renewals changed %+v", got)
	}
	p.destroy(t)
	want = TableChange{Forgotten: []string{"orders"}, Records: []RecordState{{Ref: p.ref, Destroyed: true, Mark: 400}}}
	if got := p.original.Change(); !reflect.DeepEqual(got, want) {
		t.Errorf("the end changed\n%+v, want\n%+v", got, want)
	}
}

// TestChangeBeginsAtTheTable: a new owner, and a replica that takes over a whole table,
// start to count from there.
func TestChangeBeginsAtTheTable(t *testing.T) {
	for name, begin := range map[string]func(*Table){
		"owner":   func(table *Table) { table.BecomeOwner(50, false, true) },
		"loss":    func(table *Table) { table.BecomeOwner(50, true, true) },
		"restore": func(table *Table) { table.Restore(table.Snapshot()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.create(t)
			begin(p.original)
			if c := p.original.Change(); len(c.Records)+len(c.Forgotten) > 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestHigh: the first tick that was not granted is the highest of all, and the table is
// unused only when every node is unassigned.
func TestHigh(t *testing.T) {
	p := newPair(t)
	expect := func(what string, high clustertime.Tick, free bool) {
		t.Helper()
		if h, f := p.original.High(); h != high || f != free {
			t.Errorf("%s: %d, %v; want %d, %v", what, h, f, high, free)
		}
	}
	expect("empty", 0, true)
	p.original.BecomeOwner(40, true, true)
	expect("after a loss", 40, true)
	p.create(t)
	expect("created", 40, true)
	p.attach(t, "a", 2, 100)
	p.attach(t, "b", 1, 90)
	expect("two attached", 100, false)
	p.original.Extend(Bounds{Ceiling: 110})
	expect("extended", 110, false)
	p.original.Detach(p.ref, attachment.Release{ID: attachmentID("a"), Node: 2, LastUsed: 59})
	expect("one detached", 110, false)
	p.original.Expire("orders", 1, attachmentID("b"), 105)
	expect("the other expired", 105, true)
	p.destroy(t)
	expect("destroyed", 105, true)
	p.original.Restore(TableState{Records: []RecordState{{Ref: p.ref, Free: 70}}})
	expect("never attached", 70, true)
	p.original.Restore(TableState{Base: 30, Records: []RecordState{{Ref: p.ref, Free: 10, Destroyed: true, Mark: 20}}})
	p.original.Fold(30, 0)
	expect("folded", 30, true)
	p.create(t)
	p.attach(t, "a", 1, 60)
	p.original.Extend(Bounds{Ceiling: 80})
	p.destroy(t)
	expect("destroyed while extended", 80, true)
}

// TestFoldSeesWhatWasApplied: a copy that becomes the owner folds the marks it was sent,
// although it found none to fold before.
func TestFoldSeesWhatWasApplied(t *testing.T) {
	original, replica := NewTable(), NewTable()
	if replica.Fold(100, 0) {
		t.Error("an empty table folded something")
	}
	ref := lifeOf(t, "orders", 1)
	if _, _, err := original.Create(ref, clustertime.TickOf(ref.Definition.Config().Epoch.Time())); err != nil {
		t.Fatal(err)
	}
	if err := original.Destroy(ref); err != nil {
		t.Fatal(err)
	}
	replica.Apply(original.Change())
	if !replica.Fold(clustertime.TickOf(ref.Definition.Config().Epoch.Time()), 0) {
		t.Error("a mark that was applied is not folded")
	}
}
