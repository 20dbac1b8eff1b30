package member

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestPagesFitABody: the largest table there can be of one name, and the longest
// names, travel in bodies below the limit; a change is small.
func TestPagesFitABody(t *testing.T) {
	table := partition.NewTable()
	def, err := sequencer.Define("orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ref := attachment.Ref{Definition: def, Life: attachment.Life{1}}
	const now = 1_800_000_000_000
	if _, _, err := table.Create(ref, now); err != nil {
		t.Fatal(err)
	}
	change := 0
	for i := range def.Config().Nodes {
		id := attachment.ID{1, byte(i), byte(i >> 8)}
		claim := partition.Claim{Ref: ref, ID: id, Preference: attachment.Preference{Any: true}}
		if _, _, err := table.Attach(claim, partition.Bounds{Now: now, Ceiling: now + 15000}); err != nil {
			t.Fatal(err)
		}
		change = encoded(t, ReplicateRequest{Changes: ChangesOf([]partition.TableChange{table.Change()})})
	}
	pages := PagesOf(table.Snapshot())
	for i, page := range pages {
		sent := TableOf(page)
		n := encoded(t, ReplicateRequest{Pages: len(pages), Page: i, Table: &sent})
		if n > wire.MaxBody {
			t.Errorf("page %d of %d has %d bytes, more than a body of %d", i, len(pages), n, wire.MaxBody)
		}
		t.Logf("all %d nodes attached: page %d of %d has %d bytes, the last change had %d",
			def.Config().Nodes, i+1, len(pages), n, change)
		if change > 1000 || n < 100*change {
			t.Errorf("a change of %d bytes, and a whole table of %d", change, n)
		}
	}
}

func encoded(t *testing.T, v any) int {
	t.Helper()
	body, err := wire.Encode(wire.MsgPack, v)
	if err != nil {
		t.Fatal(err)
	}
	return len(body)
}
