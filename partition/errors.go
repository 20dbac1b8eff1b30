package partition

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ErrBadClaim means that a holder's claim names no attachment, or a logical node that the
// sequencer does not have. The claim cannot be served by any owner.
var ErrBadClaim = errors.New("partition: bad claim")

// ErrInUse means that a sequencer that was to be destroyed if it is unused is not.
var ErrInUse = errors.New("partition: the sequencer is in use")

// ErrEnded is the reply of an owner whose member grants nothing more.
var ErrEnded = failure.Errorf(sequencer.ErrClosed, "grid: this member has left or stopped and grants nothing; use another member")
