package sequencer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestSentinelsAreDistinct: no sentinel has a prefix, since each arrives inside a text
// that has one.
func TestSentinelsAreDistinct(t *testing.T) {
	sentinels := []error{
		sequencer.ErrDetached, sequencer.ErrAttached, sequencer.ErrDestroyed,
		sequencer.ErrConflict, sequencer.ErrNotFound, sequencer.ErrNoFreeNode,
		sequencer.ErrGrantExpired, sequencer.ErrEpochExhausted,
		sequencer.ErrInvalidConfig, sequencer.ErrUnavailable, sequencer.ErrClosed,
	}
	texts := make(map[string]bool)
	for i, a := range sentinels {
		if strings.HasPrefix(a.Error(), "sequencer") {
			t.Errorf("%q has a prefix", a)
		}
		if texts[a.Error()] {
			t.Errorf("%q is the text of two errors", a)
		}
		texts[a.Error()] = true
		for _, b := range sentinels[:i] {
			if errors.Is(a, b) || errors.Is(b, a) {
				t.Errorf("%q and %q match", a, b)
			}
		}
	}
}
