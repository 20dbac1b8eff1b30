package formation

import (
	"errors"
	"testing"
)

// TestHindranceKeepsTheClocks: the error of the clocks is shown until they are compared again, also while too few
// members reply: the members of a grid that cannot form often end at the same time.
func TestHindranceKeepsTheClocks(t *testing.T) {
	var b bootstrap
	wrong := errors.New("grid not formed: wall clock is wrong: the clock of member b")
	b.compared(wrong)
	b.hinder(wrong.Error(), 0)
	if got := b.hindrance(); got != "; "+wrong.Error() {
		t.Errorf("with all members: %q", got)
	}
	const refused = "1 of 3 members accept: connection refused"
	b.hinder(refused, 0)
	if got, want := b.hindrance(), "; "+refused+"; when the members last replied: "+wrong.Error(); got != want {
		t.Errorf("after two have ended: %q, want %q", got, want)
	}
	b.compared(nil)
	if got := b.hindrance(); got != "; "+refused {
		t.Errorf("after a comparison without an error: %q", got)
	}
}
