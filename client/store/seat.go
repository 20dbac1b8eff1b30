package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// seat is one attachment of a handle: its machine, and the calls that the machine requires.
type seat struct {
	h    *holder
	id   attachment.ID
	node sequencer.NodeID

	turn chan struct{} // has one token: calls for the record run one at a time
	wake signal.Signal // to renew the record now
	gone chan struct{} // closed by stop

	mu      sync.Mutex // never held while waiting
	machine *record.Holding
	looked  time.Duration // when the last renewal was known to have landed, monotonic
	ready   bool          // see becomeReady
}

// swapsMax bounds the writes of one drive before it pauses: a machine needs three, after a stop at
// the worst moment.
const swapsMax = 5

// drive sends the machine's requests until it has none, or returns the error of a call
// with an unknown outcome.
func (s *seat) drive(ctx context.Context) error {
	for swaps := 0; ; {
		s.mu.Lock()
		request, want, revision := s.machine.Want()
		renewal := s.machine.Phase() == record.Holds
		if request == record.Swap {
			s.machine.Sent()
		}
		s.mu.Unlock()
		var err error
		switch request {
		case record.Nothing:
			return nil
		case record.Swap:
			if swaps++; swaps > swapsMax {
				return fmt.Errorf("store: sequencer %q: node %d: %d writes were refused in a row; is the revision that the store "+
					"shows the newest?", s.h.name(), s.node, swapsMax)
			}
			err = s.swap(ctx, want, Revision(revision), renewal)
		case record.Load:
			err = s.load(ctx)
		}
		if err != nil {
			return fmt.Errorf("store: sequencer %q: node %d: %w", s.h.name(), s.node, err)
		}
	}
}

// swap sends a body. In the phase Holds it is a renewal.
func (s *seat) swap(ctx context.Context, want record.Record, revision Revision, renewal bool) error {
	c := s.h.client
	e := c.recordEntry(s.h.name(), s.node, want, revision)
	e.Renewal = renewal
	var landed Revision
	var err error
	if want.State == record.Held {
		landed, err = c.swapIn(ctx, e, want.Generation) // Q3
	} else {
		landed, err = c.swap(ctx, e)
	}
	answer := record.Unknown
	switch {
	case err == nil:
		answer = record.Landed
	case errors.Is(err, ErrChanged):
		answer, err = record.Refused, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machine.Swapped(want.Nonce, answer, string(landed), newNonce())
	s.settled()
	return err
}

func (s *seat) load(ctx context.Context) error {
	f := s.h.client.one(ctx, s.h.name(), s.node)
	if f.err != nil && !errors.Is(f.err, ErrDamaged) {
		return f.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machine.Read(record.Seen{Record: f.Record, Revision: string(f.revision), Err: f.err}, newNonce())
	s.settled()
	return nil
}

// settled passes the machine's present grant on to the handle. mu must be held.
func (s *seat) settled() {
	if s.machine.Phase() != record.Holds || !s.machine.Idle() {
		return
	}
	s.looked = s.h.client.clock.Mono()
	s.h.failed.Store(nil)
	if g, granted := s.machine.Grant(); granted && s.h.control != nil {
		s.h.control.Renewed(s.id, g)
	}
}

// takeTurn waits for the token.
func (s *seat) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renew extends the record once, or continues a pending swap.
func (s *seat) renew(ctx context.Context) error {
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	c := s.h.client
	if err := c.sample(); err != nil {
		c.log.Warn("clock not followed", "error", err)
	}
	generation, err := c.generation(ctx)
	if err != nil {
		return err
	}
	known := c.known()
	bounds := s.h.bounds(generation)
	bounds.Used = s.h.control.LastUsed(s.id)
	s.mu.Lock()
	_ = s.machine.Extend(known, newNonce(), bounds) // an error loses the record
	s.mu.Unlock()
	return s.drive(ctx)
}

// keep renews the record until it is returned or lost.
func (s *seat) keep(ctx context.Context) {
	c := s.h.client
	for failed := 0; ; {
		if !s.sleep(ctx, s.due(failed)) {
			return
		}
		end := c.spans.Note(ctx, "renew", slog.String("sequencer", s.h.name()), slog.Int("node", int(s.node)))
		err := s.renew(ctx)
		end(err)
		s.mu.Lock()
		if err != nil {
			s.machine.Expire(c.clock.Now())
		}
		phase, cause := s.machine.Phase(), s.machine.Cause()
		s.mu.Unlock()
		c.moved.Send()
		if err != nil {
			s.h.failed.Store(&err)
			s.h.control.NotRenewed(s.id, err)
		}
		switch {
		case ctx.Err() != nil || phase == record.Returning || phase == record.Done:
			return
		case phase == record.Lost:
			c.lost(ctx, s, cause)
			return
		case err != nil:
			failed++
			c.log.Warn("logical node not renewed; retrying", "sequencer", s.h.name(), "node", s.node, "error", err)
		default:
			failed = 0
		}
	}
}

// due returns when the next renewal is, after some failed ones: earlier if the record ends
// earlier than after a whole window, and at its end at the latest.
func (s *seat) due(failed int) time.Duration {
	c := s.h.client
	s.mu.Lock()
	left := s.machine.Record().Timestamp.Sub(c.clock.Now()).Duration()
	s.mu.Unlock()
	if failed > 0 {
		// One tick beyond its end the record is expired.
		return min(record.RetryAfter(failed, c.cfg.Window), max(left+2*time.Millisecond, time.Millisecond))
	}
	return max(record.RenewAfter(c.cfg.Window, jitter)-max(c.cfg.Window-left, 0), 0)
}

// sleep waits for d or until the record is to be renewed now. false: there is nothing left
// to renew.
func (s *seat) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-s.wake:
	case <-s.gone:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// stop ends the use of the attachment permanently (H5).
func (s *seat) stop(rel attachment.Release) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machine.Stop(rel, newNonce())
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
}

// finish returns the record of a seat that was stopped, until ctx ends.
func (s *seat) finish(ctx context.Context) error {
	var before error
	for try := 1; ; try++ {
		err := s.finishOnce(ctx)
		if err == nil {
			s.h.client.remove(s)
			return nil
		}
		err = causeOf(ctx, err, before)
		before = err
		if !s.h.client.pause(ctx, record.RetryAfter(try, s.h.client.cfg.Window)) {
			return err
		}
	}
}

func (s *seat) finishOnce(ctx context.Context) error {
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	return s.drive(ctx)
}
