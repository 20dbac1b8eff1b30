package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Reach is an owner's record of members that do not answer it, for its driver in package grid. A call of
// the leader to such a member may be answered, so the leader does not replace it (R4), and the owner's
// creates wait for its acknowledgement. So the owner reports it, and the leader decides:
//
//	           an update was not acknowledged for DoubtAfter,
//	           or gossip has probed it in vain
//	reached ------------------------------------------------> in doubt: probed each ReachEvery
//	   ^                                                        |    |
//	   +--------------------- a probe is answered --------------+    | none for apartAfter, while another
//	   |                                                             v member answers this one
//	   +-- each probe is answered for togetherAfter ---------- apart: reported
//
// A member that has too much to do answers a probe late and not never; one that has stood still itself, or
// that no member answers, reports nothing.
type Reach struct {
	members map[roster.Incarnation]*reached
	heard   time.Duration // when the newest call began that any member has answered
	stepped time.Duration
}

// reached is one member in doubt, or apart.
type reached struct {
	probing  bool
	failures int           // in a row
	since    time.Duration // if there are any: when the first of them began
	apart    bool
	answered time.Duration // if apart: when the first of the answers in a row began, 0 for none
}

const (
	// DoubtAfter is how long an update of a table may be without an acknowledgement before its replica is
	// probed.
	DoubtAfter = 500 * time.Millisecond
	// ReachEvery is the time between two steps of a [Reach].
	ReachEvery = 250 * time.Millisecond
	// ReachTimeout bounds a probe.
	ReachTimeout = probeTimeout
	// apartAfter is how long no probe is answered before a member is apart. togetherAfter is longer, so that
	// a connection that comes and goes does not move partitions to and fro.
	apartAfter    = 2 * time.Second
	apartFailures = 3
	togetherAfter = 15 * time.Second
)

// NewReach returns the record of a member that every other one answers.
func NewReach() *Reach { return &Reach{members: map[roster.Incarnation]*reached{}} }

// Doubt takes in a sign that a member may not be reached.
func (r *Reach) Doubt(of roster.Incarnation) {
	if r.members[of] == nil {
		r.members[of] = &reached{}
	}
}

// Step returns the members to probe now, sorted: those in doubt or apart, and the leader, which shows that
// calls of this member are answered at all.
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

// Probed takes in the outcome of a probe that began at a time.
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
