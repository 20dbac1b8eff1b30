package sequencer

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/visible"
)

// The epochs, in Unix milliseconds, whose number is more likely a time in seconds: these
// numbers are times from 1973 to 2286 in seconds, and instants of the first months of 1970
// in milliseconds.
const (
	minSecondsLike = 100_000_000
	maxSecondsLike = 10_000_000_000
)

// CheckNew tells whether a sequencer may be created with this definition at a time. It
// refuses more than [Define], which also reads the definitions of sequencers that exist:
// besides what [Definition.CheckAt] refuses, it returns ErrInvalidConfig for a name that
// prints like another one (a space at either end, a format or separator character), and
// for an epoch whose number is one of seconds.
func (d Definition) CheckNew(now clustertime.Tick) error {
	if fault := visible.Fault(d.name); fault != "" {
		return failure.Errorf(ErrInvalidConfig, "sequencer: name %s %s: leave it out", excerpt(d.name), fault)
	}
	if ms := d.epoch.UnixMilli(); ms >= minSecondsLike && ms < maxSecondsLike {
		return failure.Errorf(ErrInvalidConfig, "sequencer %q: epoch %v: give it in milliseconds; %d looks like seconds", d.name, d.epoch, ms)
	}
	return d.CheckAt(now)
}
