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

func lifeOf(t testing.TB, name string, life byte) attachment.Ref {
	d, err := sequencer.Define(name, sequencer.Config{Epoch: epoch.UnixMilli(1), Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	return attachment.Ref{Definition: d, Life: attachment.Life{life},
		Born: attachment.Revision{Term: 1, Number: uint64(life)}}
}

// stored is a disk to which a table's changes are brought.
type stored map[string]DefinitionRecord

func (s stored) take(c DefinitionChange) {
	if c.Whole != nil {
		clear(s)
		for _, r := range c.Whole.Records {
			s[r.Ref.Definition.Name()] = r
		}
	}
	for _, r := range c.Changed {
		s[r.Ref.Definition.Name()] = r
	}
	for _, name := range c.Removed {
		delete(s, name)
	}
}

// TestUnstored: whatever an owner does and its copy is sent, as changes or as a whole, a
// disk that was brought every change has the definitions of its table (D1).
func TestUnstored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tables := []*Table{NewTable(), NewTable()}
		disks := []stored{{}, {}}
		for _, table := range tables {
			table.BecomeOwner(100, true, true)
		}
		life, now := byte(0), clustertime.Tick(200)
		name := func() string { return fmt.Sprint("n", rapid.IntRange(0, 3).Draw(t, "name")) }
		number := func() int { return rapid.IntRange(0, 1).Draw(t, "which") }
		write := func(i int) {
			disks[i].take(tables[i].TakeUnstored())
			want := stored{}
			for _, r := range tables[i].Definitions().Records {
				want[r.Ref.Definition.Name()] = r
			}
			if !reflect.DeepEqual(disks[i], want) || tables[i].Unstored() {
				t.Fatalf("table %d: disk %v, want %v", i, disks[i], want)
			}
		}
		d := func(n string) attachment.Ref {
			life++
			return attachment.Ref{Definition: must(sequencer.Define(n, sequencer.Config{Epoch: epoch.UnixMilli(1)})),
				Life: attachment.Life{life}}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(*rapid.T) { _, _, _ = tables[0].Create(d(name()), now) },
			"attach": func(*rapid.T) {
				if ref, err := tables[0].Open(name()); err == nil {
					life++
					_, _, _ = tables[0].Attach(Claim{Ref: ref, ID: attachment.ID{life}, Preference: attachment.Preference{Any: true}},
						Bounds{now, now + 10})
				}
			},
			"destroy": func(*rapid.T) {
				if ref, err := tables[0].Open(name()); err == nil {
					_ = tables[0].Destroy(ref)
				}
			},
			"fold": func(t *rapid.T) {
				now += clustertime.Tick(rapid.Int64Range(0, 300).Draw(t, "passed"))
				tables[0].Fold(now, 0)
			},
			"replicate": func(*rapid.T) { tables[1].Apply(tables[0].Change()) },
			"whole":     func(*rapid.T) { _ = tables[0].Change(); tables[1].Restore(tables[0].Snapshot()) },
			"discard": func(*rapid.T) {
				tables[1].Restore(TableState{})
				_ = tables[0].Change()
				tables[1].Restore(tables[0].Snapshot())
			},
			"take over": func(*rapid.T) { tables[0].BecomeOwner(now, false, false); tables[1].Restore(tables[0].Snapshot()) },
			"write":     func(*rapid.T) { write(number()) },
			"fail": func(*rapid.T) {
				i := number()
				_ = tables[i].TakeUnstored()
				tables[i].ForgetStored()
			},
		})
		write(0)
		write(1)
	})
}

func must(d sequencer.Definition, err error) sequencer.Definition {
	if err != nil {
		panic(err)
	}
	return d
}

// TestUnstoredIsNotKept: a table that is never stored remembers no names for a disk.
func TestUnstoredIsNotKept(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(0, true, true)
	for i := range 50 {
		if _, _, err := table.Create(lifeOf(t, fmt.Sprint("n", i), 1), 10); err != nil {
			t.Fatal(err)
		}
	}
	if len(table.disk.names) > 0 {
		t.Errorf("%d names are kept", len(table.disk.names))
	}
	if c := table.TakeUnstored(); c.Whole == nil || len(c.Whole.Records) != 50 {
		t.Errorf("the first change is %+v", c)
	}
}

// TestCollect: the definitions of a disk take the place of the table. Of what holders have
// shown the very lives that the disk has alive stay, with their nodes; everything else is
// over, and its name begins above all grants (D6).
func TestCollect(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(1000, true, false)
	b := Bounds{Now: 900, Ceiling: 2000}
	for i, name := range []string{"same", "replaced", "ended", "unknown"} {
		claim := Claim{Ref: lifeOf(t, name, 1), ID: attachment.ID{byte(i + 1)}, Preference: attachment.Preference{Node: 5},
			Trust: Trust{Forgotten: true}}
		if _, _, err := table.Attach(claim, b); err != nil {
			t.Fatal(err)
		}
	}
	other, _ := sequencer.Define("same", sequencer.Config{Epoch: epoch.UnixMilli(2), Nodes: 128})
	if table.Complete() || other == lifeOf(t, "same", 1).Definition {
		t.Fatal("it is complete before it was collected")
	}
	ended := table.Collect(Definitions{Base: 7, Records: []DefinitionRecord{
		{Ref: lifeOf(t, "absent", 3)},
		{Ref: lifeOf(t, "ended", 1), Destroyed: true, Mark: 50},
		{Ref: lifeOf(t, "replaced", 2)},
		{Ref: lifeOf(t, "same", 1)},
	}})
	if want := []attachment.Ref{lifeOf(t, "ended", 1), lifeOf(t, "replaced", 1),
		lifeOf(t, "unknown", 1)}; !slices.Equal(ended, want) {
		t.Errorf("these have ended: %v, want %v", ended, want)
	}
	if !table.Complete() {
		t.Error("it is not complete")
	}
	if of := table.TenantsOf("same"); len(of) != 1 || of[0].Node != 5 {
		t.Errorf("the life that stays has %v", of)
	}
	for name, life := range map[string]byte{"same": 1, "replaced": 2, "absent": 3} {
		if ref, err := table.Open(name); err != nil || ref != lifeOf(t, name, life) {
			t.Errorf("%s is %v, %v", name, ref, err)
		}
	}
	for name, from := range map[string]clustertime.Tick{"replaced": 2000, "absent": 1000, "ended": 2000, "unknown": 2000} {
		ref, err := table.Open(name)
		if err != nil {
			ref = lifeOf(t, name, 9)
			if _, _, err := table.Create(ref, 900); err != nil {
				t.Fatal(err)
			}
		}
		a, _, err := table.Attach(Claim{Ref: ref, ID: attachment.ID{99}, Preference: attachment.Preference{Node: 5}}, b)
		if err != nil || a.Grant.From != from {
			t.Errorf("%s begins at %d, want %d: %v", name, a.Grant.From, from, err)
		}
	}
	if len(table.Collect(Definitions{})) == 0 || len(table.Lives(9)) > 0 {
		t.Error("a disk without names leaves some")
	}
}

// TestCollectOtherDefinition: a life that a holder has shown with another definition than
// the disk's does not stay.
func TestCollectOtherDefinition(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(1000, true, false)
	shown := lifeOf(t, "orders", 1)
	shown.Definition = must(sequencer.Define("orders", sequencer.Config{Epoch: epoch.UnixMilli(2), Nodes: 8192}))
	if _, _, err := table.Attach(Claim{Ref: shown, ID: attachment.ID{1}, Preference: attachment.Preference{Node: 8000},
		Trust: Trust{Forgotten: true}}, Bounds{900, 2000}); err != nil {
		t.Fatal(err)
	}
	table.Collect(Definitions{Records: []DefinitionRecord{{Ref: lifeOf(t, "orders", 1)}}})
	if ref, err := table.Open("orders"); err != nil || ref != lifeOf(t, "orders", 1) || len(table.Tenants()) > 0 {
		t.Errorf("%v with %v, %v", ref, table.Tenants(), err)
	}
}

// TestDestroyCollected: a tombstone that came from a disk is folded in its time.
func TestDestroyCollected(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(1000, true, false)
	table.Collect(Definitions{Records: []DefinitionRecord{{Ref: lifeOf(t, "orders", 1), Destroyed: true, Mark: 1200}}})
	if table.Fold(1100, 0) || !table.Fold(1200, 0) || len(table.Definitions().Records) > 0 {
		t.Errorf("a tombstone stays: %v", table.Definitions())
	}
}

// TestDetachCountsWhatWasExtended: what an attachment was granted together with all others
// is granted when it is given back (O7).
func TestDetachCountsWhatWasExtended(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(100, true, true)
	ref, _, err := table.Create(lifeOf(t, "orders", 1), 200)
	if err != nil {
		t.Fatal(err)
	}
	claim := Claim{Ref: ref, ID: attachment.ID{1}, Preference: attachment.Preference{Node: 5}}
	if _, _, err := table.Attach(claim, Bounds{Now: 200, Ceiling: 300}); err != nil {
		t.Fatal(err)
	}
	table.Extend(Bounds{Now: 900, Ceiling: 1000})
	table.Detach(ref, attachment.Release{ID: attachment.ID{1}, Node: 5, LastUsed: 850})
	claim.ID = attachment.ID{2}
	a, _, err := table.Attach(claim, Bounds{Now: 200, Ceiling: 300})
	if err != nil || a.Grant.From != 851 {
		t.Errorf("the next attachment begins at %d, want 851: %v", a.Grant.From, err)
	}
}
