package sequencer

import "errors"

// The errors of a sequencer. They are wrapped with details, also errors from another process, so
// compare them with [errors.Is]. When the end of a context ended a wait, the error matches both the
// reason for the wait and the context's error.
var (
	// ErrDetached means that the handle has no logical node, and does not attach
	// one by itself.
	ErrDetached = errors.New("detached: attach a logical node first")

	// ErrAttached means that the handle already has a logical node.
	ErrAttached = errors.New("attached already: detach the logical node first")

	// ErrDestroyed means that this life of the sequencer was ended for all holders,
	// permanently. Creating the name again begins another life, with a new handle.
	ErrDestroyed = errors.New("destroyed: create the sequencer again and use the new handle")

	// ErrConflict means that the name exists with another definition. A store also returns it for a name
	// that was destroyed, if the IDs of the new definition could repeat earlier ones.
	ErrConflict = errors.New("conflicting definition: use the existing one, or another name")

	// ErrNotFound means that no sequencer has this name.
	ErrNotFound = errors.New("not found: check the name, or create the sequencer first")

	// ErrNoFreeNode means that every logical node of the sequencer is attached.
	ErrNoFreeNode = errors.New("no free logical node: detach one, or define a sequencer with more nodes")

	// ErrQuota means that a quota of the grid is reached: sequencers under a pattern, logical nodes
	// of one process or credential, or calls per second. The message names the limit, its pattern
	// and the remedy.
	ErrQuota = errors.New("quota reached: use less, or have an operator raise it (snowgrid quota)")

	// ErrGrantExpired means that no grant covers the present time: the grant was used up and not
	// renewed in time, or it begins later. The message names the reason, and when IDs begin. The
	// handle continues by itself.
	ErrGrantExpired = errors.New("no grant for the present time: try again")

	// ErrEpochExhausted means that 2^40 ms (34.8 years) have passed since the
	// epoch. No IDs are left.
	ErrEpochExhausted = errors.New("epoch exhausted: define a sequencer with another name and a later epoch")

	// ErrInvalidConfig means that a configuration is invalid: a name, an epoch or a
	// node count outside its limits, or a setting of a member or client. The message
	// names the value and the limits.
	ErrInvalidConfig = errors.New("invalid configuration")

	// ErrInvalidID means that a value is not an ID: a text, a number or bytes outside the range
	// of IDs, or parts that no ID of the sequencer has.
	ErrInvalidID = errors.New("invalid ID")

	// ErrUnavailable means that the sequencer's owner, the grid or the store did not
	// answer in time. The request may have been carried out nevertheless.
	ErrUnavailable = errors.New("unavailable: check that the grid or the store is reachable, then try again")

	// ErrFenced means that a later process has registered with the same identity number,
	// from a copy of the data directory or in place of this one. The handle has ended; the
	// later process continues.
	ErrFenced = errors.New(
		"fenced: a later process has the same identity number; give each process a data directory of its own")

	// ErrClosed means that the handle's member or client is closed.
	ErrClosed = errors.New("closed: start another member or client and take the handle from there")
)
