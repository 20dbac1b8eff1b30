package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Reach records the members that do not answer an owner, for its driver in package grid. Such a member
// may answer the leader, which then does not replace it (R4), while the owner's creates wait for its
// acknowledgement. The owner therefore reports it, and the leader decides:
//
//	           an update was not acknowledged for DoubtAfter,
//	           or a gossip probe failed
//	reached ------------------------------------------------> in doubt: probed each ReachEvery
//	   ^                                                        |    |
//	   +--------------------- a probe is answered --------------+    | none for apartAfter, while another
//	   |                                                             v member answers this one
//	   +-- each probe is answered for togetherAfter ---------- apart: reported
//
// An overloaded member answers probes late, but it answers. A member that has stood still itself, or that
// no member answers, reports nothing.
type Reach struct {
	members map[roster.Incarnation]*reached
	heard   time.Duration // start time: the newest call that any member has answered
	stepped time.Duration
}

// reached is one member in doubt, or apart.
type reached struct {
	probing  bool
	failures int           // in a row
	since    time.Duration // if there are any: start time, the first one
	apart    bool
	answered time.Duration // if apart: start time, the first consecutive answer, 0 for none
}

const (
	// DoubtAfter is the age at which an unacknowledged table update makes the owner probe the replica.
	DoubtAfter = 500 * time.Millisecond
	// ReachEvery is the interval between [Reach.Step] calls.
	ReachEvery = 250 * time.Millisecond
	// ReachTimeout bounds a probe.
	ReachTimeout = probeTimeout
	// apartAfter is the time without an answer before a member is apart. togetherAfter is longer, so that
	// an unstable connection does not move partitions back and forth.
	apartAfter    = 2 * time.Second
	apartFailures = 3
	togetherAfter = 15 * time.Second
)

// NewReach returns a record without doubts.
func NewReach() *Reach { return &Reach{members: map[roster.Incarnation]*reached{}} }

// Doubt records a sign that a member may be unreachable.
func (r *Reach) Doubt(of roster.Incarnation) {
	if r.members[of] == nil {
		r.members[of] = &reached{}
	}
}

// Step returns, sorted, the members to probe now: all in doubt or apart, and the leader, whose answer
// proves that other members answer this one.
func (r *Reach) Step(now time.Duration, of *roster.Roster, leads roster.Incarnation) (probe []roster.Incarnation) {
	stood := now-r.stepped > standstill
	r.stepped = now
	for inc, m := range r.members {
		if _, member := of.Member(inc); !member {
			delete(r.members, inc)
			continue
		}
		if stood {
			m.failures, m.answered = 0, 0
		}
		if !m.probing {
			m.probing = true
			probe = append(probe, inc)
		}
	}
	if len(probe) > 0 && leads != "" && r.members[leads] == nil {
		probe = append(probe, leads)
	}
	slices.Sort(probe)
	return probe
}

// Probed records a probe's outcome.
func (r *Reach) Probed(of roster.Incarnation, began, now time.Duration, err error) {
	if err == nil {
		r.heard = max(r.heard, began)
	}
	m := r.members[of]
	if m == nil {
		return
	}
	m.probing = false
	switch {
	case err == nil && !m.apart:
		delete(r.members, of)
	case err == nil:
		if m.failures = 0; m.answered == 0 {
			m.answered = began
		}
		if now-m.answered >= togetherAfter {
			delete(r.members, of)
		}
	case now-began > ReachTimeout+standstill: // this member stood still
		m.failures = 0
	default:
		if m.answered = 0; m.failures == 0 {
			m.since = began
		}
		m.failures++
		if m.failures >= apartFailures && now-m.since >= apartAfter && r.heard > m.since {
			m.apart = true
		}
	}
}

// Apart returns the members that this one does not reach, sorted.
func (r *Reach) Apart() (out []roster.Incarnation) {
	for inc, m := range r.members {
		if m.apart {
			out = append(out, inc)
		}
	}
	slices.Sort(out)
	return out
}

// Idle reports whether no step is due before the next doubt.
func (r *Reach) Idle() bool { return len(r.members) == 0 }
