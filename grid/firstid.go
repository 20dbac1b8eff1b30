package grid

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// firstID is the future time at which IDs begin: every earlier grant may reach up to it. The zero
// value means that IDs can be issued now.
type firstID struct {
	at  clustertime.Tick
	why string
}

// firstID returns when IDs begin. A member that was ready before is concerned only if no
// sequencer has IDs: after the loss of a few partitions the others have.
func (s standing) firstID() (b firstID) {
	if s.now == 0 {
		return b
	}
	waits := 0
	for _, p := range s.roster.Partitions {
		if p.Owner != "" && p.Term == p.LostTerm && p.Floor > s.now {
			waits++
			b.at = max(b.at, p.Floor)
		}
	}
	if waits == 0 || s.wasReady && waits < len(s.roster.Partitions) {
		return firstID{}
	}
	b.why = waitReason(s.roster, b.at.Sub(s.now))
	return b
}

// waitReason returns why the partitions of a roster begin so much later.
func waitReason(r *roster.Roster, wait clustertime.Span) string {
	durable := false
	for _, m := range r.Members {
		durable = durable || m.Durable
	}
	switch usual := r.Settings.Window + clustertime.ClockMargin; {
	case r.Recovered != nil && wait > usual:
		return "the grid was recovered from some of its data directories, and the lost members may have issued IDs up to then"
	case wait > usual:
		return "the grid begins above the configured floor, or above all IDs that a lost grid may have issued"
	case r.Claim != "":
		return "the grid has taken its anchor again, and earlier IDs may reach up to then"
	case !durable:
		return "a grid without data directories begins a window and 5 s above the clocks, where an earlier run's IDs end " +
			"(see FirstLife, Floor (--floor) and Anchor (--anchor))"
	}
	return "every copy was lost, as when all members are killed, and earlier IDs may reach up to then"
}

// idsBeginAt begins every firstID's text.
const idsBeginAt = "IDs begin at "

// text returns when IDs begin, and why.
func (b firstID) text(now clustertime.Tick) string {
	return fmt.Sprintf(idsBeginAt+"%s (in %v): %s", b.at.TimeOrZero().Format(time.RFC3339),
		b.at.Sub(now).Duration().Round(100*time.Millisecond), b.why)
}
