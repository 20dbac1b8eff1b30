package wire_test

import (
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTablesAreCarriedWhole: a replica gets all that the owner's table holds, as
// pages and as changes (O3).
func TestTablesAreCarriedWhole(t *testing.T) {
	ref, err := wire.Sequencer{Name: "orders", Epoch: 1, Nodes: 128, Life: sequencer.Life{7}, Born: sequencer.Birth{Term: 2, Number: 3}}.Ref()
	if err != nil {
		t.Fatal(err)
	}
	records := []sequencer.RecordState{{
		Ref: ref, Destroyed: true, Mark: 11, Free: 12,
		Slots: []sequencer.SlotState{{Node: 5, ID: sequencer.AttachmentID{9}, From: 13, Free: 14}},
	}}
	table := sequencer.TableState{Base: 10, Records: records}
	pages := wire.PagesOf(table)
	if got, err := wire.TableOf(pages[0]).State(); err != nil || len(pages) != 1 || !reflect.DeepEqual(got, table) {
		t.Errorf("%d pages: %+v, %v; want %+v", len(pages), got, err, table)
	}
	change := sequencer.TableChange{Base: 10, Forgotten: []string{"gone"}, Records: records}
	if got, err := wire.ChangesOf([]sequencer.TableChange{change})[0].Change(); err != nil || !reflect.DeepEqual(got, change) {
		t.Errorf("%+v, %v; want %+v", got, err, change)
	}
}
