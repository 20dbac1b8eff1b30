package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// raisesPerWindow is how many raises there are in a window.
	raisesPerWindow = 10
	// clocksTimeout is how long a voter may take to tell its clock, and clocksGrace how
	// long the last ones are waited for once a majority has.
	clocksTimeout = time.Second
	clocksGrace   = 100 * time.Millisecond
	// aheadEvery is how often it is reported that cluster time is ahead of the clocks.
	aheadEvery = time.Minute
	// clocksAwaited is how long the first raise of a process waits for the clocks of a
	// majority. A grid whose leader reaches no majority's API continues without them.
	clocksAwaited = time.Minute
)

// ceiling is the raising of cluster time and of the ceiling (R1), ten times a window
// and immediately after an election.
//
//	      due              all have answered, or a majority and clocksGrace
//	idle -----> reading -----------------------------------------------------> proposing
//	  ^                                                                            |
//	  +----------------------------------------------------------------------------+
//	                         agreed, or failed: due immediately
type ceiling struct {
	keeper    clustertime.Timekeeper
	next      time.Duration // when the next raise is due
	reading   *reading      // nil unless clocks are being read
	rounds    uint64        // of readings
	proposing bool
	awaited   time.Duration // until when the first raise waits for a majority's clocks; 0 = it does not
	assumed   bool          // time runs by the log alone: the next majority of clocks is followed
	bound     bool          // the last raise was held back by the limit of the anchor
	// last is this leader's own last proposal. At is when its time was computed: the
	// rounds until it was applied would be missing from cluster time otherwise.
	last Raise
	// reported is when [Member.ReportClocks] was told last that cluster time is ahead
	// of the clocks; 0 for never.
	reported time.Duration
}

// reading is one round of reading the voters' clocks.
type reading struct {
	round    uint64
	voters   int
	waiting  int                // voters that have not answered yet
	deadline time.Duration      // when the round ends without them
	clocks   []clustertime.Tick // at most one for each voter, this one among them
	known    clustertime.Tick   // the latest cluster time that any of them knows
}

// raise begins to read the voters' clocks when a raise is due. After a stop nothing is
// raised until the losses of the restart are in the roster (S1).
func (l *Leader) raise(v View) {
	c := &l.ceiling
	switch r := v.Roster; {
	case c.reading != nil:
		if v.Mono >= c.reading.deadline {
			l.advance(v)
		}
		return
	case c.proposing || !r.Assigned() || r.Stopped > 0 || v.Mono < c.next:
		return
	}
	c.rounds++
	read := &reading{round: c.rounds, deadline: v.Mono + clocksTimeout}
	c.reading = read
	c.next = v.Mono + v.Roster.Settings.Window.Duration()/raisesPerWindow
	for _, s := range v.Servers {
		if !s.Voter {
			continue
		}
		read.voters++
		if s.ID == l.server {
			read.clocks = append(read.clocks, v.Wall)
		} else if m, found := v.memberOf(s.ID); found {
			read.waiting++
			l.probe(v, m.Incarnation, m.API, forClocks, read.round)
		}
	}
	if read.waiting == 0 {
		l.advance(v)
	}
}

// clockRead records a voter's clock.
func (l *Leader) clockRead(v View, p Probe, a Answer, err error) {
	read := l.ceiling.reading
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
		l.advance(v)
	case 2*len(read.clocks) > read.voters:
		read.deadline = min(read.deadline, v.Mono+clocksGrace)
	}
}

// advance computes the next cluster time from the clocks that were read, and proposes
// it.
func (l *Leader) advance(v View) {
	c := &l.ceiling
	read := c.reading
	c.reading = nil
	t := l.nextTime(v, read)
	if t == 0 {
		c.next = v.Mono + StepEvery
		return
	}
	c.last, c.proposing = Raise{Time: t, At: v.Mono}, true
	limit := l.limit(v.Roster)
	c.bound = v.Roster.Claim != "" && limit < t.Add(v.Roster.Settings.Window)
	l.member.Propose(roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim, Raise: &roster.Raise{Time: t, Limit: limit}})
}

// nextTime returns the next cluster time, 0 if it is not known yet. In a process that has applied no
// raise since it started no time runs: the grid may have been stopped, for however long. Its first
// raise follows the clocks of a majority immediately, and is not behind a time that runs elsewhere.
// Until a majority has answered there is none, for up to [clocksAwaited]: by the log alone it would be
// the time of the stop, and the present would count as a jump.
func (l *Leader) nextTime(v View, read *reading) clustertime.Tick {
	c := &l.ceiling
	last := c.lastRaise(v)
	prev := last.Time
	if c.assumed && 2*len(read.clocks) > read.voters {
		prev = 0
	}
	t, keeper, verdict := c.keeper.Next(prev, v.Mono-last.At, read.clocks, read.voters)
	c.keeper = keeper
	l.reportClocks(v.Mono, verdict)
	switch {
	case prev > 0:
		return t
	case verdict.Majority || read.known > 0: // cluster time may have gone on elsewhere
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

// proposed records the outcome of a raise. One that failed is due again.
func (c *ceiling) proposed(now time.Duration, err error) {
	c.proposing = false
	if err != nil {
		c.next = now
	}
}

// reportClocks reports a jump of the clocks that is not followed yet, and, once a
// minute, cluster time that is further ahead of the clocks than the next life of a grid
// without disks would allow for.
func (l *Leader) reportClocks(now time.Duration, verdict clustertime.Verdict) {
	c := &l.ceiling
	if verdict.Behind > clustertime.ClockMargin && (c.reported == 0 || now-c.reported >= aheadEvery) {
		c.reported = now
		l.member.ReportClocks(verdict)
	} else if verdict.Held {
		l.member.ReportClocks(verdict)
	}
}
