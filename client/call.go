package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// callOwner calls a name's owner until it answers or ctx ends. After a wrong or unreachable owner
// it fetches the directory, and retries without a pause as soon as this names another owner. After
// a slow owner it does not, since tryOwner has fetched the directory while it waited.
func (c *Client) callOwner(ctx context.Context, name, path string, in, out any) error {
	if err := c.tasks.Begin(); err != nil {
		return err
	}
	defer c.tasks.End()
	if _, err := c.identity(); errors.Is(err, sequencer.ErrFenced) && path != wire.PathDetach {
		return err
	}
	late := ctx.Err() != nil
	ctx, cancel := c.tasks.Bind(ctx)
	defer cancel()
	call := ask(c.session, (*session.Machine).NewCall)
	var said error // from the last try that was not cut off
	for {
		began := c.clock.Mono()
		addr := c.owner(name)
		err := c.tryOwner(ctx, addr, name, path, in, out)
		retry, again := c.tried(call, addr, err)
		if !again {
			return err
		}
		if late {
			return c.tasks.EndedBefore(ctx, name)
		}
		if said != nil && ctx.Err() != nil && !wire.IsAnswer(err) {
			return c.gaveUp(ctx, name, said)
		}
		said = err
		if ctx.Err() == nil && retry.LookUp {
			switch seen := c.lookUp(ctx, began, true); {
			case isDenied(seen):
				return seen
			case ctx.Err() == nil: // else it may be all that seen reports
				err = errors.Join(err, seen)
			}
		}
		switch {
		case ctx.Err() != nil:
		case retry.LookUp && retry.Follow:
			c.awaitMove(ctx, name, addr, retry.Pause)
		default:
			signal.Sleep(ctx, retry.Pause)
		}
		if ctx.Err() != nil {
			return c.gaveUp(ctx, name, err)
		}
	}
}

// tried returns whether and how to retry a call after an error from the owner at addr.
func (c *Client) tried(call *session.Call, addr string, err error) (retry session.Retry, again bool) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return call.Tried(c.clock.Mono(), addr, err)
}

// tryOwner calls the owner at addr once. A slow call is cancelled when the
// directory has another owner.
func (c *Client) tryOwner(ctx context.Context, addr, name, path string, in, out any) error {
	if addr == "" {
		return failure.Errorf(sequencer.ErrUnavailable, "the partition of %q has no owner at the moment", name)
	}
	try, cancel := context.WithTimeout(ctx, session.CallTimeout)
	defer cancel()
	slow := time.AfterFunc(session.SlowTry(0), func() {
		c.tasks.Go(func(context.Context) { c.giveUpWhenMoved(try, cancel, name, addr) })
	})
	defer slow.Stop()
	err := c.transport.Call(try, addr, path, in, out)
	c.spans.tried(ctx, addr, err)
	return err
}

// giveUpWhenMoved fetches the directory repeatedly until ctx ends, and calls giveUp when the owner
// of name is no longer at addr.
func (c *Client) giveUpWhenMoved(ctx context.Context, giveUp context.CancelFunc, name, addr string) {
	c.beginWatch(name, addr) // the owner may be silent: the member that watches it has it probed
	for looks := 1; ctx.Err() == nil; looks++ {
		_ = c.lookUp(ctx, c.clock.Mono(), true) // an error leaves the directory as it is
		c.awaitMove(ctx, name, addr, session.SlowTry(looks))
		if c.movedFrom(name, addr) {
			giveUp()
			return
		}
	}
}

// tryCall calls one member, once.
func (c *Client) tryCall(ctx context.Context, addr, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, session.CallTimeout)
	defer cancel()
	return c.transport.Call(ctx, addr, path, in, out)
}

// gaveUp returns the error of a call after its context ended, with the last error.
func (c *Client) gaveUp(ctx context.Context, name string, last error) error {
	if c.tasks.Err() != nil {
		return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrClosed)
	}
	if wire.IsAnswer(last) { // the grid is reachable, and its reply has the remedy
		text := strings.TrimPrefix(oneLine(last), fmt.Sprintf("sequencer %q: ", name))
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: not possible in time: %w; last answer: %s", name,
			ctx.Err(), text)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: no answer in time: %w; last error: %s; "+
		"check with snowgrid status that a majority of the grid is reachable and no disk hangs, then try again",
		name, ctx.Err(), oneLine(last))
}

// oneLine returns the text of joined errors on one line, without repetitions.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "; ")
}
