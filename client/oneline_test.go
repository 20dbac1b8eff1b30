package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestGaveUpRepeatsNoText: the error of a call that gave up is one line with one prefix, and
// repeats no sentence.
func TestGaveUpRepeatsNoText(t *testing.T) {
	c := &Client{tasks: handles.NewTasks("client")}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	unreachable := func(addr string, err error) error {
		return failure.Errorf(sequencer.ErrUnavailable, "member at %s: %w", addr, err)
	}
	refused := unreachable("10.0.0.1:7948", errors.New("connection refused"))
	err := c.gaveUp(ctx, "orders",
		errors.Join(refused, fmt.Errorf("%w", refused), unreachable("10.0.0.2:7948", errors.New("no route"))))
	const want = `sequencer "orders": no answer in time: context deadline exceeded; last error: member at 10.0.0.1:7948: connection refused; ` +
		`member at 10.0.0.2:7948: no route; check with snowgrid status that a majority of the grid is reachable and no disk hangs, then try again`
	if err.Error() != want || !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("it says %q\nwant    %q", err, want)
	}
	wants(t, err, sequencer.ErrUnavailable)
	wants(t, err, context.DeadlineExceeded)
	said := wire.ErrorOf(fmt.Errorf(`sequencer "orders": %w: IDs begin at noon`, sequencer.ErrUnavailable), 1).Unwire()
	err = c.gaveUp(ctx, "orders", errors.Join(said, nil))
	if text := err.Error(); strings.Contains(text, "majority") || !strings.HasSuffix(text, "IDs begin at noon") ||
		strings.Count(text, "orders") != 1 {
		t.Errorf("of an answer it says %q", text)
	}
}
