package leader

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// owner is a [Reach] of member 2 in a grid of four that member 1 leads, and the network around it.
type owner struct {
	r       *Reach
	now     time.Duration
	members *roster.Roster
}

func newOwner(t *testing.T) *owner {
	return &owner{r: NewReach(), now: time.Hour, members: lead(t, 4, true).v.Roster}
}

// steps takes steps for a time; answers says which members answer at the moment.
func (o *owner) steps(d time.Duration, answers func(member int) bool) {
	for end := o.now + d; o.now < end; o.now += ReachEvery {
		for _, of := range o.r.Step(o.now, o.members, inc(1, 1)) {
			if answers(memberOf(of)) {
				o.r.Probed(of, o.now, o.now+time.Millisecond, nil)
			} else {
				o.r.Probed(of, o.now, o.now+ReachTimeout, context.DeadlineExceeded)
			}
		}
	}
}

func but(silent ...int) func(int) bool {
	return func(m int) bool { return !slices.Contains(silent, m) }
}

// TestReach: a member that answers no probe for apartAfter is apart, while the leader answers; and it is
// together again when it has answered for togetherAfter.
func TestReach(t *testing.T) {
	o := newOwner(t)
	o.r.Doubt(inc(3, 1))
	if o.steps(ReachEvery, but()); !o.r.Idle() {
		t.Error("a member that answers stays in doubt")
	}
	o.r.Doubt(inc(3, 1))
	o.steps(apartAfter-ReachTimeout-ReachEvery, but(3))
	if got := o.r.Apart(); len(got) > 0 {
		t.Errorf("apart after less than %v: %v", apartAfter, got)
	}
	o.steps(2*ReachEvery, but(3))
	if got := o.r.Apart(); !slices.Equal(got, []roster.Incarnation{inc(3, 1)}) {
		t.Errorf("apart: %v", got)
	}
	for range 3 { // it answers now and then
		o.steps(togetherAfter-time.Second, but())
		o.steps(ReachEvery, but(3))
	}
	if len(o.r.Apart()) != 1 {
		t.Error("together after less than togetherAfter")
	}
	o.steps(togetherAfter+ReachEvery, but())
	if !o.r.Idle() || len(o.r.Apart()) > 0 {
		t.Errorf("apart: %v", o.r.Apart())
	}
}

// TestReachOfOneCutOff: a member that no other answers, or that has stood still, finds none apart; nor does
// one whose peer answers now and then, as one with too much to do. A member that is out is forgotten.
func TestReachOfOneCutOff(t *testing.T) {
	for what, run := range map[string]func(o *owner){
		"no member answers": func(o *owner) { o.steps(10*time.Second, but(1, 3, 4)) },
		"it stands still": func(o *owner) {
			for range 5 {
				o.steps(time.Second, but(3))
				o.now += standstill + time.Second
			}
		},
		"one in eight probes is answered": func(o *owner) {
			for range 10 {
				o.steps(apartAfter-ReachTimeout-ReachEvery, but(3))
				o.steps(ReachEvery, but())
				o.r.Doubt(inc(3, 1))
			}
		},
		"it is out": func(o *owner) {
			o.steps(10*time.Second, but(3))
			o.members = &roster.Roster{}
			o.steps(ReachEvery, but(3))
		},
	} {
		o := newOwner(t)
		o.r.Doubt(inc(3, 1))
		if run(o); len(o.r.Apart()) > 0 {
			t.Errorf("%s: apart %v", what, o.r.Apart())
		}
	}
}

// TestApart: a report counts while it is repeated, if both members answer the leader, and none is the
// leader; a partition's replica is dropped then, and its owner's word alone drops nothing of others.
func TestApart(t *testing.T) {
	o := failover(t)
	report := func(by int, of ...int) (due bool) {
		var members []roster.Incarnation
		for _, m := range of {
			members = append(members, inc(m, 1))
		}
		due, err := o.l.Reported(o.v, Report{Owner: inc(by, 1), Unreached: members})
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	apart := func(want ...plan.Pair) {
		t.Helper()
		if got := o.l.Apart(o.v); !slices.Equal(got, want) {
			t.Errorf("apart %v, want %v", got, want)
		}
	}
	pair := plan.PairOf(inc(2, 1), inc(3, 1))
	if !report(2, 3) || report(2, 3) {
		t.Error("news is not due, or what is known is")
	}
	apart(pair)
	report(3, 2, 3, 3, 9, 1)
	apart(pair)
	report(9, 2)
	report(2)
	apart(pair)
	o.v.Mono += unreachedKept + 1
	apart()
	report(2, 3)
	if s := o.l.sight(o.v); !slices.Equal(s.Apart, []plan.Pair{pair}) {
		t.Errorf("the planner sees %v", s.Apart)
	}
	for range 8 { // member 3 does not answer the leader either
		o.step(probeAgain)
		o.answer(forDetection, func(m int) error {
			if m == 3 {
				return context.DeadlineExceeded
			}
			return nil
		})
		report(2, 3)
	}
	apart()
}
