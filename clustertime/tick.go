package clustertime

import (
	"errors"
)

// Tick is a point in time in Unix milliseconds, or a span of milliseconds where
// a field says so (the window).
type Tick = int64

// Latest is the last tick any roster may speak of: the end of the year 9999. It
// is so far from the limits of int64 that adding a window cannot overflow.
const Latest Tick = 253_402_300_799_999

// ErrClock means that a wall clock cannot be right.
var ErrClock = errors.New("wall clock is wrong")
