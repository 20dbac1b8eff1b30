package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// wakeSpread is the time over which woken attaches spread their next look, so that they do not all
// try one record.
const wakeSpread = 50 * time.Millisecond

// await waits for d, or until shortly after wake, or returns the error of ctx or of the client's
// end.
func (c *Client) await(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	ctx, cancel := c.tasks.Bind(ctx)
	defer cancel()
	select {
	case <-time.After(d):
		return nil
	case <-wake:
		signal.Sleep(ctx, jitter(wakeSpread))
	case <-ctx.Done():
	}
	return ctx.Err()
}

// fullError reports that no record could be taken in a round.
type fullError struct {
	name                       string
	slots, held, retired       int
	ahead, corrupt, contention int
	mark                       clustertime.Tick // end of the earlier lives' grants if it is far ahead, else 0
	next                       clustertime.Tick // when the first record that is held may expire, 0 if none is
}

// wait returns how long to wait before the next round: until the first record may expire,
// if that is earlier than the pause.
func (f *fullError) wait(pause, window time.Duration, now clustertime.Tick) time.Duration {
	if f.next == 0 {
		return pause
	}
	return min(pause, max(f.next.Sub(now).Duration(), window/3)+jitter(window/8))
}

func (f *fullError) Error() string {
	if f.mark > 0 {
		return fmt.Sprintf("sequencer %q: no free logical node: an earlier life was granted up to %s, far ahead of this "+
			"machine's clock; check the clocks, or use another name", f.name, f.mark.Time().Format(time.RFC3339))
	}
	text := fmt.Sprintf("sequencer %q: no free logical node: all %d are taken: %d held", f.name, f.slots, f.held)
	for _, part := range []struct {
		n    int
		what string
	}{
		{f.retired, "retired"}, {f.contention, "taken by other holders meanwhile"}, {f.corrupt, "damaged (repair them)"},
		{f.ahead, "granted far ahead of this machine's clock (check the clocks, and that all processes have one window, or " +
			"repair them)"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text + "; wait for a holder to end, or scale the sequencer up"
}

func (f *fullError) Unwrap() []error {
	if f.corrupt > 0 && f.corrupt == f.slots {
		return []error{sequencer.ErrNoFreeNode, errDamagedOnly}
	}
	return []error{sequencer.ErrNoFreeNode}
}

// errDamagedOnly does not match ErrDamaged, which would end the wait: a repair may come.
var errDamagedOnly = errors.New("every record is damaged")

// ended returns the error when the wait for a free node has ended.
func (f *fullError) ended(by error) error {
	if f.corrupt > 0 && f.corrupt == f.slots {
		return failure.Errorf(errors.Join(sequencer.ErrNoFreeNode, ErrDamaged), "%w: %w", f, by)
	}
	return failure.Errorf(sequencer.ErrNoFreeNode, "%w: %w", f, by)
}
