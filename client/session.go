package client

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// session keeps a client's attachments alive: it renews their grants before they
// end, holds an event stream to every owner, and detaches idle handles. One
// goroutine runs it; calls go out from goroutines of their own.
type session struct {
	c       *Client
	groups  groups
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
	// lookEvery is how often the session looks at its handles at most, lookAtLeast how
	// often it does when nothing is due.
	lookEvery   = 100 * time.Millisecond
	lookAtLeast = time.Second
	// retryAfter is when a renewal that failed once is tried again, and how often
	// a grant that is about to end is asked for.
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
			timer.Reset(s.untilDue())
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
	for _, e := range entries {
		s.detachIdle(e)
	}
	byOwner := s.groups.of(entries, s.c.directory.Load())
	for owner, mine := range byOwner {
		s.renewDue(ctx, owner, mine)
	}
	s.follow(ctx, byOwner)
	return len(entries) > 0 || len(s.streams) > 0
}

// untilDue is how long nothing is due. What comes up meanwhile wakes the session.
func (s *session) untilDue() time.Duration {
	now, next := s.c.clock.Mono(), lookAtLeast
	for _, e := range s.c.handles.all() {
		if e.control.Detaches() {
			return lookEvery // only its counters say when it is idle
		}
		next = min(next, e.due()-now)
	}
	return max(next, lookEvery)
}

// groups is a client's handles by their owner's address, kept as long as neither
// handles nor owners change.
type groups struct {
	entries   []*entry
	directory *directory
	byOwner   map[string][]*entry
}

func (g *groups) of(entries []*entry, d *directory) map[string][]*entry {
	same := g.directory == d && len(g.entries) == len(entries) && (len(entries) == 0 || &g.entries[0] == &entries[0])
	if !same || g.byOwner == nil {
		*g = groups{entries: entries, directory: d, byOwner: map[string][]*entry{}}
		for _, e := range entries {
			owner := d.owner(e.control.Handle().Name())
			g.byOwner[owner] = append(g.byOwner[owner], e)
		}
	}
	return g.byOwner
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

// renewDue renews all of an owner's entries if one is due.
func (s *session) renewDue(ctx context.Context, owner string, entries []*entry) {
	now := s.c.clock.Mono()
	due := false
	for _, e := range entries {
		due = due || e.due() <= now
	}
	if !due || s.calls[owner] {
		return
	}
	next := now + s.c.pause()
	for _, e := range entries {
		e.renewAt(next)
	}
	s.calls[owner] = true
	s.c.background(func(ctx context.Context) {
		s.c.renewAll(ctx, owner, entries)
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
		if owner != "" && s.streams[owner] == nil {
			ctx, stop := context.WithCancel(ctx)
			s.streams[owner] = &follower{stop: stop, needed: now}
			s.c.background(func(context.Context) { s.c.follow(ctx, owner) })
		}
	}
}
