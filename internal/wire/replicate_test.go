package wire_test

import (
	"errors"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTablesAreCarriedWhole: a replica gets all that the owner's table holds, as
// pages and as changes (O3).
func TestTablesAreCarriedWhole(t *testing.T) {
	ref, err := wire.Sequencer{Name: "orders", Epoch: 1, Nodes: 128, Life: attachment.Life{7},
		Born: attachment.Revision{Term: 2, Number: 3}}.Ref()
	if err != nil {
		t.Fatal(err)
	}
	records := []partition.RecordState{{
		Ref: ref, Destroyed: true, Mark: 11, Free: 12,
		Slots: []partition.SlotState{{Node: 5, ID: attachment.ID{9}, From: 13, Free: 14}},
	}}
	table := partition.TableState{Base: 10, Complete: true, Records: records}
	pages := member.PagesOf(table)
	if got, err := member.TableOf(pages[0]).State(); err != nil || len(pages) != 1 || !reflect.DeepEqual(got, table) {
		t.Errorf("%d pages: %+v, %v; want %+v", len(pages), got, err, table)
	}
	change := partition.TableChange{Base: 10, Complete: true, Forgotten: []string{"gone"}, Records: records}
	if got, err := member.ChangesOf([]partition.TableChange{change})[0].Change(); err != nil ||
		!reflect.DeepEqual(got, change) {
		t.Errorf("%+v, %v; want %+v", got, err, change)
	}
}

// TestDefinitionsAreCarriedWhole: an owner gets all that a disk has, and nothing that no
// disk can have.
func TestDefinitionsAreCarriedWhole(t *testing.T) {
	page := someDefinitions()
	state, err := page.State()
	if err != nil || state.Base != 4 || len(state.Records) != 3 || !state.Records[1].Destroyed ||
		state.Records[1].Mark != 9 {
		t.Fatalf("%+v, %v", state, err)
	}
	if again := member.DefinitionsOf(state); !reflect.DeepEqual(again, page) {
		t.Errorf("%+v is sent on as %+v", page, again)
	}
	const badName = "a bad name"
	for what, damage := range map[string]func(d *member.Definitions){
		"a negative base":  func(d *member.Definitions) { d.Base = -1 },
		"a negative mark":  func(d *member.Definitions) { d.Records[1].Mark = -1 },
		"a mark of a life": func(d *member.Definitions) { d.Records[0].Mark = 1 },
		"no life":          func(d *member.Definitions) { d.Records[0].Sequencer.Life = attachment.Life{} },
		badName:            func(d *member.Definitions) { d.Records[0].Sequencer.Name = "" },
		"a name twice": func(
			d *member.Definitions) {
			d.Records[1].Sequencer.Name = d.Records[0].Sequencer.Name
		},
		"names that are not sorted": func(d *member.Definitions) { d.Records[1].Sequencer.Name = "a" },
	} {
		d := someDefinitions()
		damage(&d)
		want := wire.ErrBadRequest
		if what == badName {
			want = sequencer.ErrInvalidConfig
		}
		if _, err := d.State(); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
