package leader

import (
	"math"
	"time"
)

// never is the time of a step that is not due.
const never time.Duration = math.MaxInt64

// stepTimer holds the time of a step that is due before the next regular one. Its zero value
// is due immediately.
type stepTimer struct{ at time.Duration }

// advance makes the step due at a time, unless it is due before.
func (t *stepTimer) advance(at time.Duration) { t.at = min(t.at, at) }
