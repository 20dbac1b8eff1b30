package sequencer

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// TestHandlesPrint: a handle that is printed or logged is a line, and not its fields, which change
// meanwhile.
func TestHandlesPrint(t *testing.T) {
	h := newHandle(t)
	for _, c := range []struct {
		after func()
		want  string
	}{
		{func() {}, `sequencer "orders": Detached`},
		{func() { is(t, "attach", h.AttachLogicalNode(t.Context()), nil) }, `sequencer "orders": Attached, logical node 0`},
		{func() { is(t, "destroy", h.Destroy(t.Context()), nil) }, `sequencer "orders": Destroyed`},
	} {
		c.after()
		for _, got := range []string{fmt.Sprint(h.Sequencer), fmt.Sprintf("%+v", h.Sequencer)} {
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStriped(t, 3)
		if got, want := fmt.Sprint(s.Striped), `sequencer "orders": Attached, logical nodes 8, 9, 10`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
