package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// room is the waiting list for one name's free nodes.
type room struct {
	users int
	wake  chan struct{} // closed when a record of the name may have become free
	// ahead and corrupt are the numbers of records that the last round left out.
	ahead, corrupt int
}

// enter returns a name's room, until exit.
func (c *Client) enter(name string) *room {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rooms[name]
	if r == nil {
		r = &room{wake: make(chan struct{})}
		c.rooms[name] = r
	}
	r.users++
	return r
}

func (c *Client) exit(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rooms[name].users--
}

// wakeOf returns the channel that is closed at the next change.
func (c *Client) wakeOf(r *room) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.wake
}

// count records how many records a round left out.
func (c *Client) count(name string, ahead, corrupt int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rooms[name]; r != nil {
		r.ahead, r.corrupt = ahead, corrupt
	}
}

// notify wakes the attaches that wait for a node of a name.
func (c *Client) notify(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rooms[name]; r != nil && r.users > 0 {
		close(r.wake)
		r.wake = make(chan struct{})
	}
}

// wakeSpread is the time over which woken attaches spread their next look, so that they do not all
// try one record.
const wakeSpread = 50 * time.Millisecond

// await waits for d, or until shortly after wake, or returns the error of ctx or of the client's
// end.
func (c *Client) await(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	ctx, cancel := c.tasks.Bind(ctx)
	defer cancel()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-wake:
		return pause(ctx, jitter(wakeSpread))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fullError reports that no record could be taken in a round.
type fullError struct {
	name                       string
	slots, held, retired       int
	ahead, corrupt, contention int
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
	text := fmt.Sprintf("sequencer %q: no free logical node: all %d are taken: %d held", f.name, f.slots, f.held)
	for _, part := range []struct {
		n    int
		what string
	}{
		{f.retired, "retired"}, {f.contention, "taken by other holders meanwhile"}, {f.corrupt, "damaged (repair them)"},
		{f.ahead, "granted far ahead of this machine's clock (check the clocks, or repair them)"},
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
