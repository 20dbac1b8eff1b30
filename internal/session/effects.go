package session

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Effects are a driver's tasks after an event: first those on the clock, then those on
// handles, none of which waits, and then the calls, which run concurrently.
type Effects struct {
	Forget bool             // the grid has begun again: its cluster time is another
	Time   clustertime.Tick // the cluster time now, a sample for the clock; 0 for none

	Extend []Extension // by Control.Renewed
	Refuse []Refusal   // by Control.Refuse
	Lapse  []Loss      // by Control.Lapse
	End    []*Handle   // by Control.Destroy; a release goes to [Machine.Return]

	Detach  []*Handle // by Control.DetachIdle; its end goes to [Machine.Detached]
	Replace []Loss    // by Control.Replace; its end goes to [Machine.Replaced]
	Renew   []*Renewal
	Open    []*Stream
	Close   []*Stream
	Return  []*Return
	LookUp  bool          // fetch the directory; [Machine.LookedUp] ends it
	Since   time.Duration // unless it was requested after this
}

// Extension is a grant for a handle's attachment.
type Extension struct {
	Handle *Handle
	ID     attachment.ID
	Grant  attachment.Grant
}

// Refusal is the reason that a handle's attachment is not renewed.
type Refusal struct {
	Handle *Handle
	ID     attachment.ID
	Err    error // matches ErrDenied
}

// Loss is an attachment with a logical node that the grid gave to another holder.
type Loss struct {
	Handle *Handle
	ID     attachment.ID
	Try    int           // to replace it, from 1 on
	Within time.Duration // that try's limit
}

// Empty reports whether there is nothing to do.
func (e *Effects) Empty() bool {
	return !e.Forget && e.Time == 0 && !e.LookUp && len(e.Extend)+len(e.Refuse)+len(e.Lapse)+len(e.End)+
		len(e.Detach)+len(e.Replace)+len(e.Renew)+len(e.Open)+len(e.Close)+len(e.Return) == 0
}

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
