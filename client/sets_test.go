package client

import (
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestSetsRestOnWhatWasAnswered: what is extended all at once begins where it began,
// and a handle of whose attachment nothing whole was answered is shown by itself.
func TestSetsRestOnWhatWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		create(t, c, "orders")
		e := c.handles.all()[0]
		told, print, known := e.answered()
		sets := setsOf([]*entry{e}, len(f.owners))
		if !known || len(sets) != 1 || !sets[0].whole || sets[0].Count != 1 || sets[0].Print != print ||
			print != sequencer.PrintOf(e.control.Ref().Life, told) {
			t.Fatalf("sets of one handle: %+v", sets)
		}
		want := sequencer.Grant{From: told.Grant.From, Until: told.Grant.Until + 5000}
		c.extended(sets[0], f.stamp, want.Until)
		if held, _ := e.control.Held(); held.Grant != want {
			t.Errorf("extended to %+v, want %+v", held.Grant, want)
		}
		e.told(sequencer.Attachment{})
		if sets = setsOf([]*entry{e}, len(f.owners)); sets[0].whole {
			t.Error("a set is whole with an attachment that nothing was answered about")
		}
	})
}
