package leader

import (
	"context"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// raised returns the time of the raise that was proposed last, 0 if none was since the
// last call.
func (o *office) raised() clustertime.Tick {
	var at clustertime.Tick
	for _, c := range o.commands {
		if c.Raise != nil {
			at = c.Raise.Time
		}
	}
	o.commands = nil
	return at
}

// TestRaiseReadsTheClocksFirst: the time of a raise is by the clocks that answered: all
// voters, or a majority and a little longer.
func TestRaiseReadsTheClocksFirst(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.step(0)
	first := o.take(forClocks)
	if len(first) != 2 || o.raised() != 0 {
		t.Fatalf("%d clocks are read", len(first))
	}
	ahead := o.v.Wall + 500
	o.l.Probed(o.v, first[0], Answer{Wall: ahead}, nil)
	if o.raised() != 0 {
		t.Error("a majority is enough immediately")
	}
	o.step(clocksGrace)
	if got := o.raised(); got != o.v.Wall {
		t.Errorf("raised to %d by clocks at %d and %d, want the lower", got, o.v.Wall, ahead)
	}
	o.l.Proposed(o.v, roster.Command{Raise: &roster.Raise{}}, nil)
	o.step(time.Minute)
	second := o.take(forClocks)
	o.l.Probed(o.v, first[1], Answer{Wall: ahead}, nil) // too late
	o.l.Probed(o.v, second[1], Answer{}, context.DeadlineExceeded)
	if o.step(clocksGrace); len(second) != 2 || o.raised() != 0 {
		t.Error("an answer to an earlier round counts")
	}
}

// TestRaiseWithoutAMajorityOfClocks: cluster time that does not run yet waits for the
// clocks of a majority; one that runs continues by the leader's monotonic clock.
func TestRaiseWithoutAMajorityOfClocks(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	silent := func(int) error { return context.DeadlineExceeded }
	o.step(0)
	o.answer(forClocks, silent)
	if got := o.raised(); got != 0 {
		t.Errorf("raised to %d without clocks", got)
	}
	o.v.Raised = Raise{Time: o.v.Wall, At: o.v.Mono}
	o.l.ceiling = ceiling{server: o.l.server, out: o}
	o.step(10 * time.Second)
	o.answer(forClocks, silent)
	if got := o.raised(); got != o.v.Wall+9900 {
		t.Errorf("raised by %d after 10 s", got-o.v.Wall)
	}
}

// TestRaiseIsOneAtATime: ten times a window, again immediately after a failure, and not
// while one is proposed.
func TestRaiseIsOneAtATime(t *testing.T) {
	o := lead(t, 1, true)
	o.assign()
	pace := window * time.Millisecond / roster.RaisesPerWindow
	step := func(d time.Duration, due bool) {
		t.Helper()
		o.v.Wall = o.v.Wall.Add(clustertime.SpanOf(d))
		if o.step(d); (o.raised() > 0) != due {
			t.Errorf("after %v: due %v", d, !due)
		}
	}
	done := func(err error) {
		o.l.Proposed(o.v, roster.Command{Raise: &roster.Raise{}}, err)
	}
	step(0, true)
	step(time.Minute, false)
	done(nil)
	step(StepEvery, true)
	done(context.DeadlineExceeded)
	step(StepEvery, true)
	done(nil)
	step(pace-1, false)
	step(1, true)
}

// TestRaiseCountsFromItsProposal: the rounds until a raise was applied are not missing
// from cluster time (R1).
func TestRaiseCountsFromItsProposal(t *testing.T) {
	o := lead(t, 1, true)
	o.assign()
	o.v.Raised = Raise{Time: o.v.Wall + 1000, At: o.v.Mono} // the clock is behind
	o.step(time.Second)
	began, first := o.v.Mono, o.raised()
	o.v.Mono += 500 * time.Millisecond
	o.v.Raised = Raise{Time: first, At: o.v.Mono} // applied half a second later
	o.l.Proposed(o.v, roster.Command{Raise: &roster.Raise{}}, nil)
	o.step(time.Second)
	if got, want := o.raised().Sub(first), clustertime.SpanOf(o.v.Mono-began)*99/100; got != want {
		t.Errorf("raised by %d, want %d", got, want)
	}
}

// TestNoRaiseBeforeTheLosses: nothing is raised before every partition has an owner, nor
// after a stop, until the losses of the restart are in the roster (S1).
func TestNoRaiseBeforeTheLosses(t *testing.T) {
	o := lead(t, 1, true)
	o.l.cfg.Expect = 2
	o.step(0)
	if o.raised() != 0 {
		t.Error("raised before partitions have owners")
	}
	o.assign()
	r := *o.v.Roster
	r.Stopped = 1
	o.v.Roster = &r
	o.step(time.Minute)
	if o.raised() != 0 {
		t.Error("raised after a stop")
	}
}

// TestFirstRaiseIsNotBehind: a leader that has just started continues from the latest
// cluster time that it hears of.
func TestFirstRaiseIsNotBehind(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.step(0)
	known := o.v.Wall + 2000
	for _, p := range o.take(forClocks) {
		o.l.Probed(o.v, p, Answer{Wall: o.v.Wall, Time: known}, nil)
	}
	if got := o.raised(); got != known {
		t.Errorf("raised to %d, and a voter knows %d", got, known)
	}
	o = lead(t, 1, true)
	o.assign()
	o.apply(roster.Command{From: o.v.Roster.Version, Raise: &roster.Raise{Time: known}})
	o.step(0)
	if got := o.raised(); got != known {
		t.Errorf("raised to %d, and the log says %d", got, known)
	}
}

// TestClocksAreReported: a jump in each round that holds it, and cluster time that is
// ahead once a minute.
func TestClocksAreReported(t *testing.T) {
	o := lead(t, 1, true)
	o.assign()
	round := func(d time.Duration, reports int) {
		t.Helper()
		o.step(d)
		o.l.Proposed(o.v, roster.Command{Raise: &roster.Raise{}}, nil)
		if len(o.verdicts) != reports {
			t.Errorf("%d reports after %v, want %d", len(o.verdicts), d, reports)
		}
		o.verdicts = nil
	}
	start := o.v.Wall
	o.v.Raised = Raise{Time: start, At: o.v.Mono}
	o.v.Wall = start.Add(clustertime.JumpLimit + 10_000)
	round(time.Second, 1)
	round(time.Second, 1)
	o.v.Wall = start.Add(-clustertime.ClockMargin - 10_000)
	round(time.Second, 1)
	round(time.Second, 0)
	round(time.Minute, 1)
}
