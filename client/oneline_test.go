package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestGaveUpSaysOnce: what a call that gave up says has one prefix, one line, and no
// sentence twice.
func TestGaveUpSaysOnce(t *testing.T) {
	c := &Client{ctx: context.Background()}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	refused := unreachable("10.0.0.1:7948", errors.New("connection refused"))
	err := c.gaveUp(ctx, "orders", errors.Join(refused, fmt.Errorf("%w", refused), unreachable("10.0.0.2:7948", errors.New("no route"))))
	const want = `sequencer "orders": unavailable: check that a majority of the grid is reachable, then try again: context deadline exceeded; ` +
		`last: member at 10.0.0.1:7948: connection refused; member at 10.0.0.2:7948: no route`
	if err.Error() != want || strings.Count(err.Error(), "unavailable") != 1 {
		t.Errorf("it says %q\nwant    %q", err, want)
	}
	wants(t, err, sequencer.ErrUnavailable)
	wants(t, err, context.DeadlineExceeded)
}
