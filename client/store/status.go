package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Status is a store's whole state for a sequencer.
type Status struct {
	Definition sequencer.Definition
	// State is alive, destroying or destroyed.
	State string
	// Generation counts the name's lives, from 1 on.
	Generation uint64
	// Mark is the time up to which earlier generations, and a destroyed one, were granted;
	// zero if none were.
	Mark time.Time
	// Slots is the number of nodes in use, 0 before the end of the initialisation.
	Slots int
	// Records has a record for each node, by node; records from Slots on are retired.
	Records []RecordStatus
}

// RecordStatus is one logical node's record.
type RecordStatus struct {
	Node sequencer.NodeID
	// State is free, held, retired or closed; "damaged" if Err is not nil.
	State   string
	Task    string // task of the present or last holder
	Version uint64
	// From and Until are the grant of the holder; zero if the record is not held.
	From, Until time.Time
	// Expires is the time from which others may take the record from its holder.
	Expires time.Time
	// Bound is the first time that was never granted.
	Bound    time.Time
	LastUsed time.Time // as the last holder reported; zero if none did
	// PredecessorGraceful reports whether the holder before returned the record.
	PredecessorGraceful bool
	Known               map[sequencer.NodeID]uint64
	// Err matches ErrDamaged if the record is missing or unreadable, and the store's
	// error if it did not answer.
	Err error
}

// Status reads a sequencer's document and all its records.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrDamaged, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) Status(ctx context.Context, name string) (s Status, err error) {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return s, err
	}
	err = c.persist(ctx, name, func() error {
		d, _, err := c.document(ctx, name)
		if errors.Is(err, ErrNoRecord) {
			return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrNotFound)
		}
		if err != nil {
			return err
		}
		s = Status{Definition: d.Definition, State: d.Phase.String(), Generation: record.LifeNumber(d.Life),
			Mark: d.Mark.TimeOrZero()}
		m, _, err := c.marker(ctx, name)
		if (err == nil || errors.Is(err, ErrNoRecord)) && !d.Initialized {
			return nil // it is being created
		}
		if err != nil {
			return err
		}
		all, err := c.all(ctx, d.Definition, m.Made)
		if err != nil {
			return err
		}
		s.Slots = m.Slots
		for _, f := range all {
			s.Records = append(s.Records, f.status())
		}
		return nil
	})
	return s, err
}

// status returns a record for people.
func (f found) status() RecordStatus {
	if f.err != nil {
		return RecordStatus{Node: f.Node, State: "damaged", Err: f.err}
	}
	r := f.Record
	return RecordStatus{
		Node: f.Node, State: r.State.String(), Task: r.Task, Version: r.Version,
		From: r.From.TimeOrZero(), Until: r.Until.TimeOrZero(), Expires: r.Timestamp.TimeOrZero(),
		Bound: r.Bound.TimeOrZero(), LastUsed: r.LastUsed.TimeOrZero(), PredecessorGraceful: r.Graceful,
		Known: r.Known,
	}
}
