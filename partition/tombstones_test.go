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
