package sequencer

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Epochs in this range, in Unix milliseconds, are probably given in seconds by mistake: as seconds
// they lie between 1973 and 2286, as milliseconds in the first months of 1970.
const (
	minSecondsLike = 100_000_000
	maxSecondsLike = 10_000_000_000
)

// checkNew reports whether a sequencer may be created with this definition at now. It has more
// rules than [Define], which also reads the definitions of existing sequencers: besides the errors
// of checkAt, it returns ErrInvalidConfig for a name that prints like another one (a space at either
// end, a character that renders as nothing or as a gap), and for an epoch that looks like seconds.
func (d Definition) checkNew(now clustertime.Tick) error {
	if fault := spelling.Fault(d.name); fault != "" {
		return failure.Errorf(ErrInvalidConfig, "sequencer: name %s %s: leave it out", excerpt(d.name), fault)
	}
	if ms := d.epoch.UnixMilli(); ms >= minSecondsLike && ms < maxSecondsLike {
		return failure.Errorf(ErrInvalidConfig, "sequencer %q: epoch %v: give it in milliseconds; %d looks like seconds",
			d.name, d.epoch, ms)
	}
	return d.checkAt(now)
}
