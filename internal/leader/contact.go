package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Durations.
const (
	// suspectAfter is the silence after which an in-sync replica may take the member's place.
	// After deadAfter, tables without another replica are lost.
	suspectAfter = 500 * time.Millisecond
	deadAfter    = 5 * time.Second
	// seenExtra is added to deadAfter while gossip sees the member alive, and to suspectAfter if
	// such a member answers with an old roster.
	seenExtra = 3 * time.Second
	// suspectFailures is the least number, in a row, before silence counts.
	suspectFailures = 2
	// standstill is the longest time between a silent member's probe outcomes. A longer time
	// means that this leader has stood still: it has no information about that time, and earlier
	// information is too old.
	standstill = 2 * time.Second
)

// contact records one member's probe outcomes and its answers to pushes.
type contact struct {
	round    uint64        // an incarnation that is admitted again has a new one
	admitted time.Duration // record created
	probing  bool          // a probe has no outcome yet
	next     time.Duration // next probe
	heard    bool          // a call was answered
	// answered is the start time: the newest probe or push answered with a recent roster.
	answered time.Duration
	began    time.Duration // newest probe started
	signed   time.Duration // the last sign by Raft that it does not reach the member
	failing  bool          // the last probe failed, and no later call was answered
	failed   time.Duration // newest failed probe started
	ended    time.Duration // if failing: last probe ended
	since    time.Duration // if failing: first failed probe started
	failures int           // if failing: consecutive failures
	lags     bool          // if failing: the last probe was answered, with an old roster
	absent   bool          // if failing: the last probe proved that the member is not there
	refused  Refusals
	trip     time.Duration // smoothed time of an answered call, 0 before the first
	said     bool          // release and zone are set
	release  roster.Release
	zone     string
}

// noteTrip records the time of an answered call, smoothed as in RFC 6298, section 2.
func (c *contact) noteTrip(took time.Duration) {
	if c.trip == 0 {
		c.trip = took
	}
	c.trip += (took - c.trip) / 8
}

// pause returns the time between a failure and the next probe.
func (c *contact) pause() time.Duration {
	switch {
	case c.absent && !c.refused.Prove():
		return refusedApart
	case c.failures < suspectFailures:
		return probeSoon
	}
	return probeAgain
}

// verdict returns whether the member is suspect and whether it is dead, by the view.
func (c *contact) verdict(v View, of roster.Incarnation) (suspect, dead bool) {
	if !c.failing {
		return false, false
	}
	seen := v.sees(of)
	return c.suspect(seen, v.Mono), c.dead(seen, v.Mono)
}

// suspect reports whether in-sync replicas may take the member's place; seen reports whether
// gossip sees it alive.
func (c *contact) suspect(seen bool, now time.Duration) bool {
	if c.absent && (!seen || c.refused.Prove()) {
		return true
	}
	return c.failures >= suspectFailures && c.silent(now, suspectAfter+extra(seen && c.lags))
}

// lost reports whether the leader stops waiting for tables that the member may have: gossip is
// consulted.
func (c *contact) lost(seen bool, now time.Duration) bool {
	return c.silent(now, suspectAfter+extra(seen)) || c.absent && !seen
}

// dead reports whether the member is removed.
func (c *contact) dead(seen bool, now time.Duration) bool {
	return c.silent(now, deadAfter+extra(seen)) || c.absent && !seen
}

// silent reports whether the member has been silent for a duration, until recently.
func (c *contact) silent(now, d time.Duration) bool {
	return c.failing && now-c.since >= d && now-c.ended <= standstill
}

func extra(seen bool) time.Duration {
	if seen {
		return seenExtra
	}
	return 0
}
