package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestGaveUpSaysOnce: the error of a call that gave up is one line with one prefix, and
// repeats no sentence.
func TestGaveUpSaysOnce(t *testing.T) {
	c := &Client{tasks: handles.NewTasks("client")}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	refused := unreachable("10.0.0.1:7948", errors.New("connection refused"))
	err := c.gaveUp(ctx, "orders", errors.Join(refused, fmt.Errorf("%w", refused), unreachable("10.0.0.2:7948", errors.New("no route"))))
	const want = `sequencer "orders": no answer in time: context deadline exceeded; last error: member at 10.0.0.1:7948: connection refused; ` +
		`member at 10.0.0.2:7948: no route; check that a majority of the grid is reachable, then try again`
	if err.Error() != want || !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("it says %q\nwant    %q", err, want)
	}
	wants(t, err, sequencer.ErrUnavailable)
	wants(t, err, context.DeadlineExceeded)
}
