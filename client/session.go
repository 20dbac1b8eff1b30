package client

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// session keeps a client's attachments alive: it renews their grants before they
// end, holds an event stream to every owner, and detaches idle handles. One
// goroutine runs it; calls go out from goroutines of their own.
type session struct {
	c       *Client
	streams map[string]*follower // by owner's address
	calls   map[string]bool      // owners with a renewal under way
	ended   chan string          // owners whose renewal has ended
}

// follower is an open event stream.
type follower struct {
	stop   context.CancelFunc
	needed time.Duration // when something was last held at its owner
}

const (
	// lookEvery is how often the session looks at its handles.
	lookEvery = 100 * time.Millisecond
	// retryAfter is when a failed renewal is tried again, and how often a
	// grant that is about to end is asked for.
	retryAfter = 300 * time.Millisecond
	// streamIdle is how long a stream stays open without need, so that a
	// handle that comes soon hears of a destroy from its first moment.
	streamIdle = 10 * time.Second
	// claimsPerCall keeps a renewal small: with the longest names and an error
	// for every claim, the answer still fits into a body.
	claimsPerCall = wire.MaxClaims / 8
)

func newSession(c *Client) *session {
	return &session{c: c, streams: map[string]*follower{}, calls: map[string]bool{}, ended: make(chan string, 64)}
}

// run looks at the handles until ctx ends. Without handles it only waits.
func (s *session) run(ctx context.Context) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		var tick <-chan time.Time
		if s.look(ctx) {
			timer.Reset(lookEvery)
			tick = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-s.c.nudge:
		case <-tick:
		case owner := <-s.ended:
			delete(s.calls, owner)
		}
	}
}

// look does what is due, and reports whether there is anything to look after.
func (s *session) look(ctx context.Context) bool {
	entries := s.c.handles.all()
	byOwner := map[string][]*entry{}
	d := s.c.directory.Load()
	for _, e := range entries {
		s.detachIdle(e)
		owner := d.owner(e.control.Handle().Name())
		byOwner[owner] = append(byOwner[owner], e)
	}
	for owner, mine := range byOwner {
		s.renewDue(ctx, owner, mine)
	}
	delete(byOwner, "")
	s.follow(ctx, byOwner)
	return len(entries) > 0 || len(s.streams) > 0
}

// detachIdle gives an idle handle's logical node back.
func (s *session) detachIdle(e *entry) {
	if !e.control.Idle(s.c.clock.Now()) || !e.begin() {
		return
	}
	s.c.background(func(ctx context.Context) {
		defer e.finish()
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if err := e.control.DetachIdle(ctx); err != nil && !settled(err) {
			s.c.log.Info("idle logical node not given back yet; trying on", "sequencer", e.control.Handle().Name(), "error", err)
		}
	})
}

// renewDue renews an owner's entries if one is due, together with those that
// would be soon.
func (s *session) renewDue(ctx context.Context, owner string, entries []*entry) {
	now := s.c.clock.Mono()
	due := false
	for _, e := range entries {
		due = due || e.dueBy(now)
	}
	if !due || s.calls[owner] {
		return
	}
	soon := now + s.c.window()/16
	var batch []*entry
	for _, e := range entries {
		if e.dueBy(soon) {
			e.renewAt(now + s.c.pause())
			batch = append(batch, e)
		}
	}
	s.calls[owner] = true
	s.c.background(func(ctx context.Context) {
		s.c.renewAll(ctx, owner, batch)
		select {
		case s.ended <- owner:
		case <-ctx.Done():
		}
	})
}

// follow keeps one event stream to each owner.
func (s *session) follow(ctx context.Context, owners map[string][]*entry) {
	now := s.c.clock.Mono()
	for owner, f := range s.streams {
		if owners[owner] != nil {
			f.needed = now
		} else if now-f.needed >= streamIdle {
			f.stop()
			delete(s.streams, owner)
		}
	}
	for owner := range owners {
		if s.streams[owner] == nil {
			ctx, stop := context.WithCancel(ctx)
			s.streams[owner] = &follower{stop: stop, needed: now}
			s.c.background(func(context.Context) { s.c.follow(ctx, owner) })
		}
	}
}

// renewAll renews entries at one owner, as many calls as that takes.
func (c *Client) renewAll(ctx context.Context, owner string, entries []*entry) {
	for len(entries) > 0 {
		n := min(len(entries), claimsPerCall)
		if err := c.renew(ctx, owner, entries[:n]); err != nil {
			c.renewAgain(entries, err)
			return
		}
		entries = entries[n:]
	}
}

// renewAgain has entries renewed soon, by whoever owns them then. It does not wait
// for the directory: a member that hangs must not hold up renewals.
func (c *Client) renewAgain(entries []*entry, err error) {
	c.log.Debug("renewal failed; trying again", "error", err)
	began := c.clock.Mono()
	for _, e := range entries {
		e.renewAt(began + retryAfter)
	}
	c.refresh(began)
}

// renew makes one renewal call.
func (c *Client) renew(ctx context.Context, owner string, entries []*entry) error {
	if owner == "" {
		return sequencer.ErrUnavailable
	}
	req := wire.RenewRequest{Holder: c.holder}
	shown := make([]sequencer.Attachment, len(entries))
	for i, e := range entries {
		shown[i], _ = e.control.Held()
		req.Claims = append(req.Claims, e.claim(e.control.Ref(), shown[i]))
	}
	began := c.clock.Mono()
	var res wire.RenewResponse
	if err := c.tryCall(ctx, owner, wire.PathRenew, req, &res); err != nil {
		return err
	}
	if len(res.Results) != len(entries) {
		return errors.New("client: the owner answered another number of claims than it was asked")
	}
	c.stamped(res.Stamp, began)
	var failed []*entry
	var last error
	for i, e := range entries {
		if err := c.renewed(e, shown[i], res.Stamp, res.Results[i]); err != nil {
			failed, last = append(failed, e), err
		}
	}
	if len(failed) > 0 {
		c.renewAgain(failed, last)
	}
	return nil
}

// renewed delivers the answer to one claim; an error asks for another try.
func (c *Client) renewed(e *entry, shown sequencer.Attachment, stamp wire.Stamp, res wire.RenewResult) error {
	err := res.Error.Unwire()
	switch {
	case err == nil:
		e.saw(stamp)
		if !shown.ID.IsZero() {
			e.control.Renewed(shown.ID, res.Grant)
			c.hurry(e, res.Grant)
		}
	case errors.Is(err, sequencer.ErrDestroyed), errors.Is(err, sequencer.ErrConflict):
		c.log.Info("sequencer has ended", "sequencer", e.control.Handle().Name(), "reason", err)
		c.ended(e)
	case errors.Is(err, sequencer.ErrDetached):
		c.replace(e, shown.ID)
	default:
		return err
	}
	return nil
}

// hurry renews a grant again soon that does not reach as far ahead as it should.
func (c *Client) hurry(e *entry, g sequencer.Grant) {
	now := c.clock.Now()
	if g.From > now || g.Until-now < c.window().Milliseconds()/2 {
		e.renewAt(c.clock.Mono() + retryAfter)
	}
}

// replace attaches anew a handle whose logical node went to another holder.
func (c *Client) replace(e *entry, id sequencer.AttachmentID) {
	if !e.begin() {
		return
	}
	c.background(func(ctx context.Context) {
		defer e.finish()
		ctx, cancel := context.WithTimeout(ctx, c.window())
		defer cancel()
		if err := e.control.Replace(ctx, id); err != nil && !settled(err) {
			c.log.Warn("no logical node in place of the one lost yet; trying on",
				"sequencer", e.control.Handle().Name(), "error", err)
			e.renewAt(c.clock.Mono() + retryAfter)
		}
	})
}
