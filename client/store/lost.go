package store

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// lost handles the loss of a seat's record: the handle uses up its grant, and takes another record
// as soon as it can.
func (c *Client) lost(ctx context.Context, s *seat, cause error) {
	defer c.remove(s)
	control := s.h.control
	if errors.Is(cause, sequencer.ErrDestroyed) {
		c.log.Info("sequencer destroyed", "sequencer", s.h.name())
		c.end(s.h)
		return
	}
	loss := s.loss(cause)
	c.log.Warn("logical node lost; another is being taken", "sequencer", loss.Sequencer, "node", loss.Node, "version",
		loss.Version, "usable_until", loss.Until, "error", cause)
	c.report(loss)
	r := c.room(s.h.name())
	again := c.clock.Mono() + c.cfg.Window/3
	id := s.id
	for try := 1; ; try++ {
		wake := r.wake.Wait()
		err := c.replace(ctx, s.h, id) // the first call also waits until a handle that is attaching has s
		c.moved.Send()
		if id = c.lostIn(control, id); !control.Lost(id) || ctx.Err() != nil {
			break
		}
		if try == 1 {
			c.log.Warn("logical node not replaced; waiting for another", "sequencer", s.h.name(), "error", err)
		}
		if c.clock.Mono() >= again { // Z25
			again = c.clock.Mono() + c.cfg.Window/3
			c.report(loss)
		}
		wait := min(c.nextRound(try, err), c.cfg.Window/3)
		if until, held := control.Lapse(id); held {
			wait = min(wait, max(until.Sub(c.clock.Now()).Duration(), time.Millisecond))
		}
		if c.await(ctx, wait, wake) != nil {
			return
		}
	}
	c.log.Info("logical node no longer awaited", "sequencer", s.h.name(), "state", control.Handle().State().String())
}

// lostIn returns the attachment of a handle that another record has to replace: the one in place of
// id if its record was lost before the handle had it, else id.
func (c *Client) lostIn(control *attachment.Control, id attachment.ID) attachment.ID {
	held, there := control.Held()
	if !there || held.ID == id {
		return id
	}
	if next := c.seatOf(held.ID); next != nil {
		next.mu.Lock()
		defer next.mu.Unlock()
		if next.machine.Phase() != record.Lost {
			return id
		}
	}
	return held.ID
}

// replace tries once to take another record. Its grant may begin where the lost one ends, for which
// the handle does not wait; see [attachment.Control.ReplaceAtEnd].
func (c *Client) replace(ctx context.Context, h *holder, id attachment.ID) error {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, onceKey{}, true), c.cfg.Window+4*c.cfg.CallTimeout)
	defer cancel()
	err := h.control.ReplaceAtEnd(ctx, id)
	if held, there := h.control.Held(); there && held.ID != id {
		if next := c.seatOf(held.ID); next != nil {
			next.mu.Lock()
			next.settled() // it may have been renewed before the handle had it
			next.mu.Unlock()
		}
	}
	return err
}

// end takes a handle to its end because its life has ended.
func (c *Client) end(h *holder) {
	c.handles.Drop(h.control)
	if rel, held := h.control.Destroy(); held {
		if s := c.seatOf(rel.ID); s != nil {
			s.stop(rel)
			c.finishLater(s)
		}
	}
}

// loss describes the loss of a seat's record.
func (s *seat) loss(cause error) Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, _ := s.machine.Grant()
	return Loss{Sequencer: s.h.name(), Node: s.node, Version: s.machine.Record().Version, Cause: cause,
		Until: g.Until.Time()}
}

// report calls OnLost, unless the client was closed.
func (c *Client) report(loss Loss) {
	if c.cfg.OnLost != nil && c.tasks.Err() == nil {
		c.calls.lost(c.cfg.OnLost, loss)
	}
}
