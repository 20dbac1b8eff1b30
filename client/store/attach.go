package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// bounds returns the current limits for a take or an extension, at the server of a generation.
func (h *holder) bounds(generation string) record.Bounds {
	cfg := h.client.cfg
	return record.Bounds{
		Now: h.client.clock.Now(), Window: clustertime.SpanOf(cfg.Window), Ahead: clustertime.SpanOf(h.client.ahead()),
		Life: h.ref.Life, Mark: h.mark, Epoch: clustertime.Tick(h.ref.Definition.Config().Epoch.UnixMilli()),
		Generation: generation, Quarantine: clustertime.SpanOf(cfg.Window + cfg.MaxSkew + cfg.FailoverBound),
	}
}

// ahead returns how far beyond this machine's clock a record may have been granted.
func (c *Client) ahead() time.Duration {
	return 2*c.cfg.Window + c.cfg.MaxSkew + c.cfg.FailoverBound
}

// take makes one round over the records, and returns the seat for the record that it took.
//
// Errors: a *fullError; sequencer.ErrDestroyed, ErrDamaged; and the store's errors.
func (c *Client) take(ctx context.Context, h *holder, p attachment.Preference) (*seat, error) {
	if err := c.sample(); err != nil {
		return nil, fmt.Errorf("sequencer %q: no logical node is taken while the clock is wrong: %s", h.name(), err.Error())
	}
	m, _, err := c.markerFor(ctx, h.ref, h.counted)
	if err != nil {
		return nil, err
	}
	generation, err := c.generation(ctx)
	if err != nil {
		return nil, err
	}
	records, err := c.all(ctx, h.ref.Definition, min(m.Slots, h.ref.Nodes()))
	if err != nil {
		return nil, err
	}
	order, full, err := c.candidates(h, p, records, generation)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(order); i++ {
		s, err := c.tryTake(ctx, h, order[i], generation)
		if s != nil || err != nil {
			return s, err
		}
		full.contention++
		rest := order[i+1:] // others go through them in the same order
		rand.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
	}
	return nil, full
}

// candidates returns the records to try, in order, and the problems with the others.
//
// Errors: sequencer.ErrDestroyed, and the store's errors.
func (c *Client) candidates(h *holder, p attachment.Preference, records []found, generation string) ([]found,
	*fullError, error) {
	b := h.bounds(generation)
	full := &fullError{name: h.name(), slots: len(records)}
	byNode := make(map[sequencer.NodeID]found, len(records))
	var all []record.Candidate
	for _, f := range records {
		if f.err == nil {
			_, f.err = f.Record.Take(attachment.ID{1}, "", newNonce(), b)
		}
		switch {
		case f.err == nil, errors.Is(f.err, record.ErrAhead):
			byNode[f.Node] = f
			all = append(all, f.Candidate)
			if t := f.Record.Timestamp; !f.Record.Acquirable(b.Now) && (full.next == 0 || t < full.next) {
				full.next = t
			}
		case errors.Is(f.err, sequencer.ErrDestroyed):
			return nil, nil, fmt.Errorf("sequencer %q: %w", h.name(), sequencer.ErrDestroyed)
		case errors.Is(f.err, record.ErrRetired):
			full.retired++
		case errors.Is(f.err, ErrDamaged):
			full.corrupt++
			c.log.Warn("record damaged; skipped", "sequencer", h.name(), "node", f.Node, "error", f.err)
		default:
			return nil, nil, f.err // the store did not answer
		}
	}
	order, ahead := record.Order(all, p, b)
	if h.mark.Sub(b.Now) > b.Ahead {
		full.mark = h.mark
	}
	full.ahead, full.held = ahead, len(all)-ahead-len(order)
	c.note(full, all, b.Now)
	tries := make([]found, len(order))
	for i, candidate := range order {
		tries[i] = byNode[candidate.Node]
	}
	return tries, full, nil
}

// note records a round's results. It warns if another holder's clock was later than now when it wrote its
// record, by more than clocks may differ. One of the two is wrong, and their IDs have later times than ours; or the
// other holder has a longer window, which no record states. IDs stay unique.
func (c *Client) note(full *fullError, records []record.Candidate, now clustertime.Tick) {
	window := clustertime.SpanOf(c.cfg.Window)
	var newest record.Candidate
	for _, r := range records {
		if r.Record.State == record.Held && r.Record.Timestamp > newest.Record.Timestamp {
			newest = r
		}
	}
	written := newest.Record.Timestamp.Add(-window) // the holder wrote its clock and a window
	behind := written.Sub(now).Duration()
	if behind <= c.cfg.MaxSkew {
		behind = 0
	}
	if c.count(full.name, full.ahead, full.corrupt, behind) == 0 && behind > 0 {
		c.log.Warn("clock behind another holder's, or its window is longer; check both time services and windows",
			"sequencer", full.name,
			"this_clock", now.Time(), "other_clock", written.Time(), "behind", behind, "node", newest.Node,
			"task", newest.Record.Task)
	}
}

// nextRound returns the pause after the n-th consecutive round that failed: longer while no record is free than while
// the store fails.
func (c *Client) nextRound(n int, err error) time.Duration {
	if full, is := errors.AsType[*fullError](err); is {
		return full.wait(record.AcquireAfter(n, c.cfg.AcquireMaxDelay, jitter), c.cfg.Window, c.clock.Now())
	}
	return record.RetryAfter(n, c.cfg.Window)
}

// takeTries limits the attempts at one record before the round ends.
const takeTries = 3

// tryTake tries to take one record. nil, nil: another holder was faster.
func (c *Client) tryTake(ctx context.Context, h *holder, f found, generation string) (*seat, error) {
	id := handles.NewAttachment()
	machine, err := record.NewHolding(id, f.Candidate, string(f.revision), c.cfg.Task, newNonce(), h.bounds(generation))
	if err != nil {
		return nil, nil //nolint:nilerr // the clock has gone on; the next round decides
	}
	s := &seat{
		h: h, id: machine.ID(), node: machine.Node(), machine: machine, looked: c.clock.Mono(),
		turn: make(chan struct{}, 1), wake: signal.New(), gone: make(chan struct{}),
	}
	for try := 1; ; try++ {
		err = s.drive(ctx)
		if err == nil || try == takeTries || !c.pause(ctx, record.RetryAfter(try, c.cfg.Window)) {
			break
		}
	}
	s.mu.Lock()
	phase, cause := machine.Phase(), machine.Cause()
	s.mu.Unlock()
	switch {
	case phase == record.Holds:
		return s, nil
	case phase == record.Lost && errors.Is(cause, sequencer.ErrDestroyed):
		return nil, fmt.Errorf("sequencer %q: %w", h.name(), sequencer.ErrDestroyed)
	case phase == record.Lost:
		return nil, nil
	}
	// The outcome is unknown. No ID was issued, so the node is returned if the take lands.
	s.stop(attachment.Release{ID: id, Node: f.Node})
	c.finishLater(s)
	return nil, err
}
