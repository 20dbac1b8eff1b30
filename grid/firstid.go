package grid

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
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
	b.why = s.roster.WhyIDsBegin(b.at.Sub(s.now))
	return b
}

// idsBeginAt begins every firstID's text.
const idsBeginAt = "IDs begin at "

// text returns when IDs begin, and why.
func (b firstID) text(now clustertime.Tick) string {
	return fmt.Sprintf(idsBeginAt+"%s (in %v): %s", b.at.TimeOrZero().Format(time.RFC3339),
		b.at.Sub(now).Duration().Round(100*time.Millisecond), b.why)
}
