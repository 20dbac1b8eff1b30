package sequencer

import (
	"errors"
)

// The errors of a sequencer. They arrive wrapped with what went wrong, from
// another process too, so compare them with [errors.Is]. When the end of a
// context cut a wait short, the error matches both the reason for the wait and
// the context's error.
var (
	// ErrDetached means that the handle owns no logical node, and does not take
	// one by itself.
	ErrDetached = errors.New("detached: attach a logical node first")

	// ErrAttached means that the handle owns a logical node already.
	ErrAttached = errors.New("attached already: detach the logical node first")

	// ErrDestroyed means that this life of the sequencer is over, for every
	// holder and for good. Creating the name again begins another life, with a
	// handle of its own.
	ErrDestroyed = errors.New("destroyed: create the sequencer again and use the new handle")

	// ErrConflict means that the name exists with another definition.
	ErrConflict = errors.New("conflicting definition: use the existing one, or another name")

	// ErrNotFound means that no sequencer has this name.
	ErrNotFound = errors.New("not found: create the sequencer first")

	// ErrNoFreeNode means that every logical node of the sequencer is owned.
	ErrNoFreeNode = errors.New("no free logical node: detach one, or define a sequencer with more nodes")

	// ErrGrantExpired means that the grant is used up, and no further one came
	// in time. The handle goes on by itself as soon as one comes.
	ErrGrantExpired = errors.New("grant used up: check that a majority of the grid is reachable, then try again")

	// ErrEpochExhausted means that 2^40 ms (34.8 years) have passed since the
	// epoch. No IDs are left.
	ErrEpochExhausted = errors.New("epoch exhausted: define a sequencer with another name and a later epoch")

	// ErrInvalidConfig means that the name, the epoch or the node count is
	// outside its limits. The text after it says which, and what is allowed.
	ErrInvalidConfig = errors.New("invalid configuration")

	// ErrUnavailable means that whoever decides about this sequencer did not
	// answer in time. The request may still have been carried out.
	ErrUnavailable = errors.New("unavailable: check that a majority of the grid is reachable, then try again")

	// ErrClosed means that the member or client of the handle is closed.
	ErrClosed = errors.New("closed: start another member or client and take the handle from there")
)
