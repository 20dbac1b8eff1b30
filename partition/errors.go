package partition

import (
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ErrEnded is the reply of an owner whose member grants nothing more.
var ErrEnded = failure.Errorf(sequencer.ErrClosed,
	"grid: this member has left or stopped and grants nothing; use another member")
