package client

import "github.com/snowgrid/snowgrid/internal/handles"

// Clock is one process's cluster time: the time that the grid agreed on, kept
// between two answers by the process's monotonic clock. It reads no wall clock.
type Clock = handles.Clock

// NewClock returns a clock that knows no time yet.
func NewClock() *Clock { return handles.NewClock() }

// NewExactClock returns a clock that is looked at for each ID. In a bubble of
// testing/synctest, whose time is not the processor's, handles need one.
func NewExactClock() *Clock { return handles.NewExactClock() }
