package record

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Bounds are the limits under which a holder takes and extends records.
type Bounds struct {
	// Now is the holder's clock. It decides when a record may be taken; uniqueness does not depend
	// on it, except for Quarantine.
	Now    clustertime.Tick
	Window clustertime.Span // a grant's length, above 0
	Ahead  clustertime.Span // how far beyond Now a taken grant may begin; 0 = any distance
	// Life and Mark come from the document that the holder has read: no earlier life granted
	// anything at or above Mark.
	Life  attachment.Life
	Mark  clustertime.Tick
	Epoch clustertime.Tick
	// Used is the last tick that the holder has used, 0 if none; for Extend.
	Used clustertime.Tick
	// Generation names the server that the swap will be conditional on; "" if its
	// server cannot lose acknowledged writes.
	Generation string
	// Quarantine is the distance from Now to the start of a grant where acknowledged writes may
	// have been lost: the window, the clocks' error, and the longest time for which a replaced
	// server acknowledges writes (Q2).
	Quarantine clustertime.Span
}

// Take returns the record with attachment id as its holder (H2). It does not depend on the current
// holder: earlier grants lie below the new grant. [Record.Acquirable] reports whether the record
// should be taken yet, which is a courtesy, not a safety rule.
//
// Errors: sequencer.ErrDestroyed if b's life has ended; ErrRetired; ErrAhead; ErrDamaged if b's
// life excludes the record's.
func (r Record) Take(id attachment.ID, task, nonce string, b Bounds) (Record, error) {
	if err := r.takeable(b.Life); err != nil {
		return Record{}, err
	}
	from := max(b.Now, r.Bound, b.Mark, b.Epoch)
	if r.mayHaveLost(b) {
		from = max(from, b.Now.Add(b.Quarantine))
	}
	switch {
	case r.farAhead(b):
		return Record{}, failure.Errorf(ErrAhead,
			"record: granted up to %s, this clock is at %s; check the clocks, or repair the record", text(max(r.Bound, b.Mark)),
			text(b.Now))
	case r.Version >= versionMax:
		return Record{}, failure.Errorf(ErrDamaged, "record: version %d is the last one; repair the record", r.Version)
	}
	until := max(from, b.Now.Add(b.Window)) // Q6: a grant that begins later is empty
	return Record{
		State: Held, Task: task, Version: r.Version + 1, Timestamp: b.Now.Add(b.Window),
		Attachment: id, Life: b.Life, From: from, Until: until, Bound: until,
		LastUsed: r.LastUsed, Graceful: r.State != Held && r.Graceful, Nonce: nonce, Generation: b.Generation,
	}, nil
}

// takeable returns the error if an attachment in this life cannot take the record (H2, H8).
func (r Record) takeable(life attachment.Life) error {
	switch {
	case r.EndOf(life):
		return fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	case r.State == Closed && earlier(r.Life, life), r.empty() && LifeNumber(life) == 1:
		return nil
	case r.Life != life:
		return failure.Errorf(ErrDamaged,
			"record: it is %v in life %v, the sequencer's document in life %v; find out which one was changed, then repair "+
				"the record", r.State, r.Life, life)
	case r.State == Retired:
		return fmt.Errorf("record: %w", ErrRetired)
	}
	return nil
}

// EndOf reports whether the record proves that a life has ended.
func (r Record) EndOf(life attachment.Life) bool {
	return r.State == Closed && r.Life == life || earlier(life, r.Life)
}

// empty reports whether the record was read from an empty body, which has no bound.
func (r Record) empty() bool { return r.State == Free && r.Life.IsZero() }

// mayHaveLost reports whether the record may lack a grant: another server made the last grant (Q2),
// or its body was empty.
func (r Record) mayHaveLost(b Bounds) bool { return r.Generation != b.Generation || r.empty() }

// farAhead reports whether the record was granted to a time too far ahead of b.Now.
func (r Record) farAhead(b Bounds) bool {
	return b.Ahead > 0 && max(r.Bound, b.Mark).Sub(b.Now) > b.Ahead
}

// Extend returns the record with a later grant end (H3), and known as its holder's view of other
// records' versions.
//
// Errors: sequencer.ErrDestroyed if the record was closed; sequencer.ErrDetached if id is not its
// holder, or its server was replaced (Q4); ErrExpired if others may take it already.
func (r Record) Extend(id attachment.ID, known map[sequencer.NodeID]uint64, nonce string,
	b Bounds) (Record, error) {
	switch {
	case r.HeldBy(id):
	case r.EndOf(b.Life):
		return Record{}, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	default:
		return Record{}, failure.Errorf(sequencer.ErrDetached, "record: it is %v by %q in version %d; take a record again",
			r.State, r.Task, r.Version)
	}
	if r.Generation != b.Generation {
		return Record{}, failure.Errorf(sequencer.ErrDetached,
			"record: its server was replaced, %q is now %q, so writes may have been lost; take a record again", r.Generation,
			b.Generation)
	}
	if b.Now > r.Timestamp {
		return Record{}, failure.Errorf(ErrExpired, "record: it expired at %s, and it is %s; take a record again",
			text(r.Timestamp), text(b.Now))
	}
	r.LastUsed = max(r.LastUsed, min(b.Used, r.Until-1)) // never more than was granted
	r.Timestamp = max(r.Timestamp, b.Now.Add(b.Window))
	r.Until = max(r.Until, b.Now.Add(b.Window))
	r.Bound = max(r.Bound, r.Until)
	r.Known, r.Nonce = known, nonce
	return r, nil
}

// Return returns the record without its holder (H5). false: it is not held by rel.ID,
// and nothing is to be done. The holder has stopped for good; it used nothing above
// rel.LastUsed.
func (r Record) Return(rel attachment.Release, nonce string) (Record, bool) {
	if !r.HeldBy(rel.ID) {
		return Record{}, false
	}
	used := min(rel.LastUsed, r.Until-1) // never more than was granted
	if used > 0 {
		r.LastUsed = max(r.LastUsed, used)
	}
	r.Bound = max(r.From, used+1)
	r.Graceful = true
	return r.unheld(Free, nonce), true
}

// released is the generation of a record whose body was empty. No server has it, so the next take waits (Q2).
const released = "released by another program"

// unheld returns the record without its holder, in another state.
func (r Record) unheld(s State, nonce string) Record {
	if r.empty() {
		r.Generation = released
	}
	r.State, r.Nonce = s, nonce
	r.Attachment, r.From, r.Until, r.Timestamp, r.Known = attachment.ID{}, 0, 0, 0, nil
	return r
}

// text returns a tick for messages.
func text(t clustertime.Tick) string { return t.Time().Format("2006-01-02T15:04:05.000Z") }
