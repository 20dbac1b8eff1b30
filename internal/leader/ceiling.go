package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// clocksTimeout bounds the wait for a voter's clock. clocksGrace is the additional
	// wait once a majority has answered.
	clocksTimeout = time.Second
	clocksGrace   = 100 * time.Millisecond
	// aheadEvery is the interval between reports that cluster time is ahead of the clocks.
	aheadEvery = time.Minute
	// clocksAwaited bounds the wait for a majority's clocks before a process's first raise. A grid whose leader
	// reaches no majority continues without them.
	clocksAwaited = time.Minute
)

// ceiling raises cluster time and the ceiling (R1), ten times a window and immediately
// after an election.
//
//	      due              all have answered, or a majority and clocksGrace
//	idle -----> reading -----------------------------------------------------> proposing
//	  ^                                                                            |
//	  +----------------------------------------------------------------------------+
//	                         agreed, or failed: due immediately
type ceiling struct {
	server ServerID // this leader's
	out    Member

	keeper    clustertime.Timekeeper
	next      time.Duration // next raise
	reading   *reading      // nil unless clocks are being read
	rounds    uint64        // number of readings
	proposing bool
	awaited   time.Duration // deadline for a majority's clocks before the first raise; 0 for none
	assumed   bool          // cluster time follows the log alone; the next majority of clocks replaces it
	bound     bool          // the anchor's limit held back the last raise
	// last is this leader's own last proposal. At is its computation time, so that
	// cluster time includes the rounds until the raise was applied.
	last Raise
	// reported is the time at which cluster time ahead of the clocks was last reported; 0 for
	// none.
	reported time.Duration
}

// ceilingView is a [ceiling]'s input.
type ceilingView struct {
	View
	limit clustertime.Tick // the anchor's limit, 0 for none
}

// reading is one round in which the voters' clocks are read.
type reading struct {
	round    uint64
	voters   int
	waiting  int                // voters without an answer
	deadline time.Duration      // the round ends
	clocks   []clustertime.Tick // at most one per voter, including this one
	known    clustertime.Tick   // the latest cluster time in the answers
}

// step starts to read the voters' clocks when a raise is due. After a stop it waits until
// the losses of the restart are in the roster (S1).
func (c *ceiling) step(v ceilingView) {
	switch r := v.Roster; {
	case c.reading != nil:
		if v.Mono >= c.reading.deadline {
			c.advance(v)
		}
		return
	case c.proposing || !r.Assigned() || r.Stopped > 0 || v.Mono < c.next:
		return
	}
	c.rounds++
	read := &reading{round: c.rounds, deadline: v.Mono + clocksTimeout}
	c.reading = read
	c.next = v.Mono + v.Roster.Settings.Window.Duration()/roster.RaisesPerWindow
	for _, s := range v.Servers {
		if !s.Voter {
			continue
		}
		read.voters++
		if s.ID == c.server {
			read.clocks = append(read.clocks, v.Wall)
		} else if m, found := v.memberOf(s.ID); found {
			read.waiting++
			p := newProbe(v.Mono, m.Incarnation, m.API, forClocks, read.round)
			p.Timeout = clocksTimeout
			c.out.Probe(p)
		}
	}
	if read.waiting == 0 {
		c.advance(v)
	}
}

func (c *ceiling) clockRead(v ceilingView, p Probe, a Answer, err error) {
	read := c.reading
	if read == nil || read.round != p.round {
		return
	}
	read.waiting--
	if err == nil && a.Wall != 0 && !a.foreign(v.Roster) {
		read.clocks = append(read.clocks, a.Wall)
		read.known = max(read.known, a.Time)
	}
	switch {
	case read.waiting == 0:
		c.advance(v)
	case 2*len(read.clocks) > read.voters:
		read.deadline = min(read.deadline, v.Mono+clocksGrace)
	}
}

// advance computes the next cluster time from the clocks and proposes it.
func (c *ceiling) advance(v ceilingView) {
	read := c.reading
	c.reading = nil
	t := c.nextTime(v.View, read)
	if t == 0 {
		c.next = v.Mono + StepEvery
		return
	}
	c.last, c.proposing = Raise{Time: t, At: v.Mono}, true
	c.bound = v.Roster.Claim != "" && v.limit < t.Add(v.Roster.Settings.Window)
	c.out.Propose(roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim,
		Raise: &roster.Raise{Time: t, Limit: v.limit}})
}

// nextTime returns the next cluster time, 0 if it is unknown. Time does not run in a
// process that has applied no raise since it started: the grid may have been stopped for
// any duration. Its first raise follows a majority's clocks immediately, and is not
// behind a time that runs in another process. It waits up to [clocksAwaited] for that
// majority: the log alone would give the stop's time, and the present would then
// count as a jump.
func (c *ceiling) nextTime(v View, read *reading) clustertime.Tick {
	last := c.lastRaise(v)
	prev := last.Time
	if c.assumed && 2*len(read.clocks) > read.voters {
		prev = 0
	}
	t, keeper, verdict := c.keeper.Next(prev, v.Mono-last.At, read.clocks, read.voters)
	c.keeper = keeper
	c.reportClocks(v.Mono, verdict)
	switch {
	case prev > 0:
		return t
	case verdict.Majority || read.known > 0: // cluster time may have advanced elsewhere
		c.assumed = false
		return max(t, v.Roster.Time, read.known)
	case c.awaited == 0:
		c.awaited = v.Mono + clocksAwaited
		return 0
	case v.Mono < c.awaited:
		return 0
	}
	c.assumed = true
	return v.Roster.Time
}

// lastRaise returns the last raise that was agreed on. Its Time is 0 if there was none.
func (c *ceiling) lastRaise(v View) Raise {
	switch {
	case v.Raised == Raise{}:
		return Raise{At: v.Mono}
	case v.Raised.Time == c.last.Time:
		return c.last
	}
	return v.Raised
}

// proposed records a raise's outcome. A failed raise is due again.
func (c *ceiling) proposed(now time.Duration, err error) {
	c.proposing = false
	if err != nil {
		c.next = now
	}
}

// reportClocks reports a clock jump that cluster time does not follow yet, and, once
// a minute, cluster time that is further ahead of the clocks than the next run without
// disks allows for.
func (c *ceiling) reportClocks(now time.Duration, verdict clustertime.Verdict) {
	if verdict.Behind > clustertime.ClockMargin && (c.reported == 0 || now-c.reported >= aheadEvery) {
		c.reported = now
		c.out.ReportClocks(verdict)
	} else if verdict.Held {
		c.out.ReportClocks(verdict)
	}
}

// due returns the time at which the ceiling needs the next step.
func (c *ceiling) due() time.Duration {
	switch {
	case c.reading != nil:
		return c.reading.deadline
	case c.proposing:
		return never
	}
	return c.next
}
