package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Health is a client's state, read from memory.
type Health struct {
	// Valid reports whether every handle that should have a logical node has one with a record that
	// has not expired, and is being renewed. A handle that its user or DetachWhenIdle detached
	// needs none.
	Valid bool
	// Ready reports whether the client is Valid and may be given work: for each logical node whose
	// last holder crashed, every other holder knows its version, or Config.ReadyTimeout has passed
	// (see Config.Known).
	Ready bool
	// Reason is the reason why it is not Valid or not Ready, or "".
	Reason string
	// Sequencers has one entry for each handle, by name and node, and one without a logical node for each
	// name whose create has failed so far and tries again.
	Sequencers []SequencerHealth
	// Skew is the lead of this machine's clock over the store's, if SkewKnown.
	Skew      time.Duration
	SkewKnown bool
	// Ahead and Corrupt are the numbers of records that the last attaches left out because they are
	// granted to a time far ahead of this machine's clock, or damaged.
	Ahead, Corrupt int
	// Behind is the lag of this machine's clock behind another holder's, as the records showed it at the
	// last attach; 0 if it was at most Config.MaxSkew.
	Behind time.Duration
	// Skipped is the number of calls of functions of the Config that were left out since earlier calls had not
	// returned.
	Skipped int
}

// SequencerHealth is one handle's state.
type SequencerHealth struct {
	Name     string
	Attached bool // it has a logical node, and the fields below
	Node     sequencer.NodeID
	Version  uint64 // counts the holders of the node
	// PredecessorGraceful reports whether the holder before returned the node.
	PredecessorGraceful bool
	Expires             time.Time // when others may take the node
	// Begins is the time from which IDs can be issued, zero if that is now: its grant begins later, as after a failover
	// of the store, or the clock was set back. Until then it is not Ready.
	Begins       time.Time
	Valid, Ready bool
	Reason       string
	// Failed is the error of the last attempt to attach or to renew, nil if that succeeded or none has ended. With
	// a grant that has ended it means that Next waits for the store to return.
	Failed error
}

// Health returns the client's state. It makes no request, and never fails: a closed client is not
// valid.
func (c *Client) Health() Health {
	h := Health{Valid: true, Ready: true}
	for _, e := range c.handles.All() {
		h.Sequencers = append(h.Sequencers, c.healthOf(e))
	}
	h.Sequencers = append(h.Sequencers, c.uncreated()...)
	slices.SortFunc(h.Sequencers, func(a, b SequencerHealth) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	for _, s := range h.Sequencers {
		h.Valid, h.Ready = h.Valid && s.Valid, h.Ready && s.Ready
		if h.Reason == "" && s.Reason != "" {
			h.Reason = fmt.Sprintf("sequencer %q: %s", s.Name, s.Reason)
		}
	}
	if err := c.tasks.Err(); err != nil {
		h.Valid, h.Ready, h.Reason = false, false, err.Error()
	}
	c.wall.mu.Lock()
	h.Skew, h.SkewKnown = c.wall.skew, c.wall.known
	if c.wall.err != nil {
		h.Ready, h.Reason = false, cmp.Or(h.Reason, c.wall.err.Error())
	}
	c.wall.mu.Unlock()
	c.calls.mu.Lock()
	h.Skipped = c.calls.skipped
	c.calls.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rooms {
		h.Ahead, h.Corrupt = h.Ahead+r.ahead, h.Corrupt+r.corrupt
		h.Behind = max(h.Behind, r.behind)
	}
	return h
}

// beginsSoon is the longest wait for the first ID of a handle that is Ready.
const beginsSoon = time.Second

func (c *Client) healthOf(e *entry) SequencerHealth {
	s := SequencerHealth{Name: e.Control.Handle().Name()}
	if failed := e.State.failed.Load(); failed != nil {
		s.Failed = *failed
	}
	held, attached := e.Control.Held()
	if !attached {
		s.Valid = e.State.attaching.Load() == 0 && !e.State.owed.Load() && !e.Control.Lost(attachment.ID{})
		s.Ready = s.Valid
		if !s.Valid {
			s.Reason = e.State.because("it has no logical node")
		}
		return s
	}
	s.Attached, s.Node = true, held.Node
	seat := c.seatOf(held.ID)
	if seat == nil {
		s.Reason = e.State.because("its logical node is being replaced")
		return s
	}
	seat.mu.Lock()
	defer seat.mu.Unlock()
	r := seat.machine.Record()
	s.Version, s.PredecessorGraceful, s.Expires = r.Version, r.Graceful, r.Timestamp.TimeOrZero()
	g, _ := seat.machine.Grant()
	late := c.clock.Mono() - seat.looked
	switch now := c.clock.Now(); {
	case seat.machine.Phase() != record.Holds:
		s.Reason = e.State.because("its logical node was lost")
	case now > r.Timestamp:
		s.Reason = e.State.because(fmt.Sprintf("its record expired at %s", s.Expires.Format(time.RFC3339)))
	default:
		s.Valid = true
		begins := max(g.From, e.Control.LastUsed(held.ID))
		switch ahead := begins.Sub(now).Duration(); {
		case ahead > beginsSoon:
			s.Begins = begins.Time()
			s.Reason = fmt.Sprintf("IDs begin at %s (in %v), after this node's last grant or ID",
				s.Begins.Format(time.RFC3339), ahead.Round(time.Millisecond))
		case late > c.cfg.Window/2: // a renewal is due after a third
			s.Reason = e.State.because(
				fmt.Sprintf("the store has not confirmed a renewal for %v; its IDs last until %s", late.Round(time.Millisecond),
					g.Until.Time().Format(time.RFC3339)))
		case !seat.ready:
			s.Reason = "its predecessor crashed, and not every other holder knows of it yet"
		default:
			s.Ready = true
		}
	}
	return s
}

// uncreated returns an entry for each name whose create has failed so far.
func (c *Client) uncreated() (all []SequencerHealth) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, err := range c.creates {
		all = append(all, SequencerHealth{Name: name, Failed: err,
			Reason: "it is not created yet; last error: " + err.Error()})
	}
	return all
}
