package store

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTimeInABubble: with Config.Clock the times of IDs are exact in a bubble, and without it the error
// names the field.
func TestTimeInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := Open(t.Context(), NewMemory(), Config{}); err == nil || !strings.Contains(err.Error(), "Config.Clock") {
			t.Errorf("without a clock: %v", err)
		}
		shifted := func() time.Time { return time.Now().AddDate(46, 0, 1) } // 2046
		c, err := Open(t.Context(), NewMemory(), Config{Clock: shifted})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, lasts, _ := c.clock.Read(); lasts > 0 {
			t.Errorf("the time that was read counts for %v by the processor's clock", lasts)
		}
		s, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			if i%3 == 0 {
				time.Sleep(30 * time.Millisecond)
			}
			before := shifted().Truncate(time.Millisecond)
			id, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if at := s.Definition().Decompose(id).Time; at.Before(before) || at.After(shifted()) {
				t.Fatalf("ID %d has the time %v, not %v to %v", i, at, before, shifted())
			}
		}
	})
}
