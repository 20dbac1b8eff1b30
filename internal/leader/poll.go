package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// poll is a round of probes whose outcomes are awaited together.
type poll struct {
	round    uint64
	began    time.Duration
	waiting  int                         // probes without an outcome
	answered map[roster.Incarnation]bool // by probed incarnation; false for no answer yet, or no answer at all
}

// newPoll probes processes.
func newPoll(v View, out Member, why purpose, round uint64, of []Peer) *poll {
	p := &poll{round: round, began: v.Mono, waiting: len(of), answered: map[roster.Incarnation]bool{}}
	for _, peer := range of {
		p.answered[peer.Incarnation] = false
		out.Probe(newProbe(v.Mono, peer.Incarnation, peer.API, why, round))
	}
	return p
}

// note records an outcome, and reports whether it was the last.
func (p *poll) note(of Probe, err error) (over bool) {
	p.answered[of.To] = err == nil
	p.waiting--
	return p.waiting == 0
}
