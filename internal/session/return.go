package session

import (
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// ReturnsMax bounds the attachments that are given back concurrently. A member takes 8 calls of
// one connection; with far more than that, some are refused before the client knows of
// another connection's limit, and net/http sends those again after a second only.
const ReturnsMax = 16

// Return is an attachment on its way back to the grid without a caller that waits for
// it. Its end goes to [Machine.Returned].
type Return struct {
	Ref     sequencer.Ref
	Release sequencer.Release
	End     time.Duration // by the monotonic clock: the session would have ended anyway
}

// returns are those that wait for their turn and those that are in progress. There are
// many at a time when many sequencers are destroyed.
type returns struct {
	waiting    []*Return
	inProgress int
}

// Return has an attachment given back, tried again until its session would have ended.
func (m *Machine) Return(now Now, ref sequencer.Ref, rel sequencer.Release) {
	m.returns.waiting = append(m.returns.waiting, &Return{Ref: ref, Release: rel, End: now.Mono + m.window()})
	m.returnNext()
}

// Returned takes in that one attachment was given back, or that its time was over.
func (m *Machine) Returned() {
	m.returns.inProgress--
	m.returnNext()
}

func (m *Machine) returnNext() {
	r := &m.returns
	if len(r.waiting) > 0 && r.inProgress < ReturnsMax {
		r.inProgress++
		m.effects.Return = append(m.effects.Return, r.waiting[0])
		r.waiting = r.waiting[1:]
	}
}

// Returning returns how many attachments are on their way back.
func (m *Machine) Returning() int { return len(m.returns.waiting) + m.returns.inProgress }
