package partition_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNoCreateWithoutACeiling: an owner that has applied no raise for a window answers no
// create: it may be cut off, and its partition may have been lost.
func TestNoCreateWithoutACeiling(t *testing.T) {
	n := keepers(t, 0)
	m := n.members[0]
	v := m.view()
	v.Time = v.Roster.Ceiling + 1
	o := &outcome{t: t, what: "create without a ceiling"}
	m.machine.Create(v, ref(t, "orders", 1), o.reply)
	n.run()
	o.is(true, sequencer.ErrUnavailable)
}
