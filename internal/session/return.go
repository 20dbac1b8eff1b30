package session

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// Return is an attachment on its way back to the grid without a caller that waits for it.
type Return struct {
	Ref     attachment.Ref
	Release attachment.Release
	End     time.Duration // by the monotonic clock: the session would have ended anyway
}

// Return has an attachment given back, tried again until its session would have ended.
func (m *Machine) Return(now Now, ref attachment.Ref, rel attachment.Release) {
	m.effects.Return = append(m.effects.Return, &Return{Ref: ref, Release: rel, End: now.Mono + m.Window()})
}
