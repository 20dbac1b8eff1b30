package partition

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNamesThatLookEqualAreNotCreated: such a name of an earlier release stays in use.
func TestNamesThatLookEqualAreNotCreated(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(100, true, true)
	ref := attachment.Ref{Definition: must(sequencer.Define("orders ", sequencer.Config{Epoch: epoch.UnixMilli(1)})),
		Life: attachment.Life{1}}
	if _, _, err := table.Create(ref, 200); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("created a name with a space at its end: %v", err)
	}
	table.begin(ref, nil)
	again := ref
	again.Life = attachment.Life{2}
	if got, created, err := table.Create(again, 200); err != nil || created || got != ref {
		t.Errorf("create of a name that exists: %v, created %t, %v", got, created, err)
	}
	if got, err := table.Open("orders "); err != nil || got != ref {
		t.Errorf("open: %v, %v", got, err)
	}
}
