package partition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// endLife creates a name, grants one of its nodes up to mark, and destroys it.
func endLife(t *testing.T, table *Table, name string, life byte, mark clustertime.Tick) {
	t.Helper()
	ref := lifeOf(t, name, life)
	if _, _, err := table.Create(ref, 100); err != nil {
		t.Fatal(err)
	}
	claim := Claim{Ref: ref, ID: attachment.ID{life}, Preference: attachment.Preference{Any: true}}
	if _, _, err := table.Attach(claim, Bounds{Now: 100, Ceiling: mark}); err != nil {
		t.Fatal(err)
	}
	if err := table.Destroy(ref); err != nil {
		t.Fatal(err)
	}
}

// endedNames returns the names with a tombstone, sorted.
func endedNames(table *Table) (names []string) {
	for _, r := range table.Definitions().Records {
		if r.Destroyed {
			names = append(names, r.Ref.Definition.Name())
		}
	}
	return names
}

// TestFoldKeepsTheLatest: a fold keeps the latest tombstones, and each tombstone that time has not passed (O7).
func TestFoldKeepsTheLatest(t *testing.T) {
	table := NewTable()
	for i, mark := range []clustertime.Tick{500, 300, 400, 200, 900} {
		endLife(t, table, fmt.Sprint("n", i), byte(i+1), mark)
	}
	expect := func(now clustertime.Tick, keep int, folded bool, base clustertime.Tick, names ...string) {
		t.Helper()
		if got := table.Fold(now, keep); got != folded {
			t.Errorf("a fold at %d: %v", now, got)
		}
		if got := endedNames(table); !slices.Equal(got, names) || table.base != base {
			t.Errorf("at %d tombstones of %v stay, with base %d; want %v, %d", now, got, table.base, names, base)
		}
	}
	expect(250, 2, false, 0, "n0", "n1", "n2", "n3", "n4")
	expect(600, 2, true, 300, "n0", "n2", "n4")
	expect(800, 2, false, 300, "n0", "n2", "n4")
	expect(900, 2, true, 400, "n0", "n4")
	endLife(t, table, "n5", 6, 901)
	expect(901, 2, true, 500, "n4", "n5")
}

// TestEndedNames: the names with a tombstone of lives that may have issued IDs are listed, and no other ones.
func TestEndedNames(t *testing.T) {
	table := NewTable()
	endLife(t, table, "a", 1, 500)
	endLife(t, table, "b", 2, 400)
	unused, alive := lifeOf(t, "unused", 3), lifeOf(t, "alive", 4)
	for _, ref := range []attachment.Ref{unused, alive} {
		if _, _, err := table.Create(ref, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Destroy(unused); err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	for _, c := range []struct {
		prefix, after string
		n             int
		want          []string
	}{{"", "", 9, []string{"a", "b"}}, {"", "", 1, []string{"a"}}, {"", "a", 9, []string{"b"}}, {"u", "", 9, nil}} {
		if got := table.EndedThat(all, c.prefix, c.after, c.n); !slices.Equal(got, c.want) {
			t.Errorf("prefix %q, after %q, %d names: %v, want %v", c.prefix, c.after, c.n, got, c.want)
		}
	}
	for name, want := range map[string]bool{"a": true, "b": true, "unused": false, "alive": false, "none": false} {
		if ref, ended := table.Ended(name); ended != want || ended && ref.Definition.Name() != name {
			t.Errorf("%s: %v, %v", name, ref, ended)
		}
	}
}

// TestNextLifeThatCouldRepeat: a definition with which IDs of the destroyed life could be issued again is a
// conflict, which changes nothing: at the owner, at a copy, and after a collection that follows a loss (O7, D6).
func TestNextLifeThatCouldRepeat(t *testing.T) {
	const mark = 500
	table := NewTable()
	endLife(t, table, "orders", 1, mark)
	table.Fold(mark, Tombstones)
	copied, changed, collected := NewTable(), NewTable(), NewTable()
	copied.Restore(table.Snapshot())
	changed.Apply(table.Change())
	collected.BecomeOwner(mark, true, false)
	collected.Collect(table.Definitions())
	define := func(cfg sequencer.Config) attachment.Ref {
		def, err := sequencer.Define("orders", cfg)
		if err != nil {
			t.Fatal(err)
		}
		return attachment.Ref{Definition: def, Life: attachment.Life{2}}
	}
	for where, table := range map[string]*Table{"owner": table, "copy": copied, "changes": changed, "disk": collected} {
		for what, cfg := range map[string]sequencer.Config{
			"a later epoch":  {Epoch: epoch.UnixMilli(2), Nodes: 128},
			"fewer low bits": {Epoch: epoch.UnixMilli(1), Layout: sequencer.Twitter()},
		} {
			_, _, err := table.Create(define(cfg), 600)
			if !errors.Is(err, sequencer.ErrConflict) || !strings.Contains(err.Error(), "IDs could repeat; use the earlier") {
				t.Errorf("%s: %s: %v, want ErrConflict", where, what, err)
			}
			if got := endedNames(table); !slices.Equal(got, []string{"orders"}) {
				t.Errorf("%s: %s: tombstones of %v after the refusal", where, what, got)
			}
		}
		again := define(sequencer.Config{Epoch: epoch.UnixMilli(1), Nodes: 256})
		if _, begun, err := table.Create(again, 600); !begun || err != nil {
			t.Errorf("%s: other nodes: %v, %v", where, begun, err)
		}
	}
}

// TestNeverHeard: a grid that was reset may be the one in which the name of a holder under another anchor claim has
// ended, unless the holder's grant ended before the grid began. A grid without a reset, or without an anchor, never
// had that name (O6).
func TestNeverHeard(t *testing.T) {
	const began = 1000
	assigned := []roster.Partition{{Owner: "aaaaaaaaaaaaaaaa-0000000000000001"}}
	for _, c := range []struct {
		claim     roster.Claim
		restarted bool
		until     clustertime.Tick
		want      bool
	}{
		{"", true, began + 1, true}, {"01", false, began + 1, true}, {"01", false, 0, true},
		{"01", true, began - 1, true}, {"01", true, began, false}, {"01", true, 0, false},
	} {
		v := View{Roster: &roster.Roster{Claim: c.claim, Restarted: c.restarted, Began: began, Partitions: assigned}}
		if got := v.neverHeard(Claim{Until: c.until}); got != c.want {
			t.Errorf("claim %q, restarted %v, a grant until %d: %v", c.claim, c.restarted, c.until, got)
		}
	}
}
