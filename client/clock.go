package client

import "github.com/snowgrid/snowgrid/internal/handles"

// Clock is one process's cluster time: the grid's agreed time, advanced between two replies by the
// process's monotonic clock. It reads no wall clock.
type Clock = handles.Clock

// NewClock returns a clock without a time; the first reply sets it.
func NewClock() *Clock { return handles.NewClock() }

// NewExactClock returns a clock that is read for every ID. Tests in a synctest bubble need it:
// virtual time does not follow the processor's cycle counter.
func NewExactClock() *Clock { return handles.NewExactClock() }
