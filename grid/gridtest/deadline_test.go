package gridtest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNextCauseAtTheDeadline: Next waits for a free logical node, and its context
// ends during one of its tries; the error names the cause nevertheless.
func TestNextCauseAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		fill(t, g, "few", 128)
		late, err := g.Client("late").OpenSequencer(t.Context(), "few")
		ok(t, "open", err)
		late.DetachWhenIdle(time.Second)
		_, err = late.Next(within(t, 3*time.Second))
		want(t, "Next while all nodes are taken", err, sequencer.ErrNoFreeNode, context.DeadlineExceeded)
	})
}
