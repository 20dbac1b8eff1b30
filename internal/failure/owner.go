package failure

import "errors"

// Refusals by the owner of a sequencer, which package partition makes and package wire encodes.
var (
	// ErrBadClaim means that a holder's claim names no attachment, or a logical node that the
	// sequencer does not have. The claim cannot be served by any owner.
	ErrBadClaim = errors.New("partition: bad claim")

	// ErrInUse means that a sequencer was to be destroyed if it is unused, and is used.
	ErrInUse = errors.New("partition: the sequencer is in use")
)
