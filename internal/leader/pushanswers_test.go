package leader

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// told brings the leader member 3's answer to a push that began at a time, by the newest
// roster.
func (o *office) told(began time.Duration) (due bool) {
	return o.l.PushAnswered(o.v, inc(3, 1), began, Answer{Version: o.v.Roster.Version})
}

// probed lets time pass in small steps until member 3 is probed, and returns the probe and
// how long that took. Probes of the others are answered.
func (o *office) probed() (p Probe, after time.Duration) {
	o.t.Helper()
	for began := o.v.Mono; o.v.Mono-began <= 2*probeMany; o.v.Mono += refusedApart {
		o.l.Step(o.v)
		for _, p := range o.take(forDetection) {
			if memberOf(p.To) == 3 {
				return p, o.v.Mono - began
			}
			o.l.Probed(o.v, p, Answer{Version: o.v.Roster.Version}, nil)
		}
	}
	o.t.Fatal("no probe of member 3")
	return p, 0
}

// TestToldMembersAreProbedLater: an answer to a push puts the next probe off like one to a
// probe, by the same pause, also for a member without a Raft server.
func TestToldMembersAreProbedLater(t *testing.T) {
	for servers, pause := range map[int]time.Duration{3: probeMany, 2: probeUnsigned} {
		o := failover(t)
		o.v.Servers = o.v.Servers[:servers]
		p, _ := o.probed()
		o.l.Probed(o.v, p, Answer{Version: o.v.Roster.Version}, nil)
		for range 20 {
			o.v.Mono += pause / 2
			if o.told(o.v.Mono) {
				t.Error("a step is due, and the member answered before")
			}
			o.l.Step(o.v)
			for _, p := range o.take(forDetection) {
				if memberOf(p.To) == 3 {
					t.Fatal("it is probed while it answers pushes")
				}
			}
		}
		if _, after := o.probed(); after < pause || after >= pause+refusedApart {
			t.Errorf("with %d servers it is probed %v after the last answer, want %v", servers, after, pause)
		}
	}
}

// TestPauseBetweenProbes: members without a Raft server are probed often in a small grid, and
// within two seconds in a large one, so that they believe the times of raises (F5). Raft tells
// of those with a server.
func TestPauseBetweenProbes(t *testing.T) {
	for n, want := range map[int]time.Duration{3: probeUnsigned, 16: probeUnsigned, 32: time.Second / 2, 64: time.Second,
		96: 1500 * time.Millisecond, 1000: probeMany} {
		r := &roster.Roster{}
		for i := range n {
			r.Members = append(r.Members, record(i+1, true))
		}
		v := View{Roster: r, Servers: []Server{{ID: ServerOf(inc(1, 1), true)}}}
		d := detector{timer: new(stepTimer), contacts: map[roster.Incarnation]*contact{}}
		if server, none := d.pause(v, inc(1, 1)), d.pause(v, inc(2, 1)); server != probeMany || none != want {
			t.Errorf("%d members: pauses of %v with a server and %v without, want %v and %v", n, server, none, probeMany, want)
		}
	}
}

// TestToldByAnOldRoster: such an answer is not a failure, and does not put the next probe off.
// The member's description counts, and its process is not absent.
func TestToldByAnOldRoster(t *testing.T) {
	o := failover(t)
	c := o.l.detector.contacts[inc(3, 1)]
	next, answered := c.next, c.answered
	old := Answer{Version: o.l.detector.versions[0].version - 1}
	o.v.Mono += probeMany / 2
	o.l.PushAnswered(o.v, inc(3, 1), o.v.Mono, old)
	if c.failing || c.next != next || c.answered != answered {
		t.Errorf("%+v after an answer with an old roster", c)
	}
	p, _ := o.probed()
	o.v.Peers = o.v.Peers[:2]
	o.l.Probed(o.v, p, Answer{}, ErrAbsent)
	if suspect, dead := c.verdict(o.v, p.To); !suspect || !dead {
		t.Fatal("it is absent, and neither suspect nor dead")
	}
	if !o.l.PushAnswered(o.v, p.To, o.v.Mono, old) {
		t.Error("no step is due when it runs")
	}
	if suspect, dead := c.verdict(o.v, p.To); suspect || dead || !c.failing {
		t.Errorf("suspect %v, dead %v, failing %v: it runs, by an old roster", suspect, dead, c.failing)
	}
}

// TestToldOfBeforeAnAdmission: an answer to a push of before a member was removed says nothing
// of it when it has joined again.
func TestToldOfBeforeAnAdmission(t *testing.T) {
	o := failover(t)
	before := o.v.Mono
	members := o.v.Roster
	out := *members
	out.Members = members.Members[:1]
	o.v.Roster = &out
	o.step(StepEvery)
	if o.told(o.v.Mono) {
		t.Error("a step is due by an answer of no member")
	}
	o.v.Roster = members
	o.step(StepEvery)
	c := o.l.detector.contacts[inc(3, 1)]
	if o.told(before); c.heard || c.said {
		t.Error("an answer of before counts")
	}
	if o.told(o.v.Mono); !c.heard || !c.said {
		t.Error("an answer of this time does not count")
	}
}

// TestLaterOutcomeDecides: a probe that fails stands against the answer to a push that began
// before it, and the answer to one that began after it stands against the probe, whichever
// outcome is known first. The same goes for refusals.
func TestLaterOutcomeDecides(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, ErrAbsent} {
		for what, c := range map[string]struct {
			push      time.Duration // since the probe began
			toldFirst bool
			fails     bool
		}{
			"an earlier push":              {push: -1, fails: true},
			"an earlier push, heard first": {push: -1, toldFirst: true, fails: true},
			"a later push":                 {push: 1},
			"a later push, heard first":    {push: 1, toldFirst: true},
			"one at the same time":         {},
		} {
			o := failover(t)
			p, _ := o.probed()
			began := o.v.Mono
			o.v.Mono += detectTimeout
			if c.toldFirst {
				o.told(began + c.push)
			}
			o.l.Probed(o.v, p, Answer{}, err)
			if !c.toldFirst {
				o.told(began + c.push)
			}
			m := o.l.detector.contacts[p.To]
			if m.failing != c.fails || m.absent != (c.fails && errors.Is(err, ErrAbsent)) {
				t.Errorf("%v, %s: failing %v, absent %v", err, what, m.failing, m.absent)
			}
			o.l.Probed(o.v, Probe{To: p.To, round: p.round, began: o.v.Mono}, Answer{}, err)
			if proved := m.refused.Prove(); proved != (c.fails && errors.Is(err, ErrAbsent)) {
				t.Errorf("%v, %s: two refusals in a row %v", err, what, proved)
			}
		}
	}
}

// TestLastAnswerIsOfTheLatestPush: answers arrive in any order.
func TestLastAnswerIsOfTheLatestPush(t *testing.T) {
	o := failover(t)
	p, _ := o.probed()
	began := o.v.Mono
	o.v.Mono += detectTimeout
	o.told(began + 2)
	o.told(began - 1)
	if o.l.Probed(o.v, p, Answer{}, ErrAbsent); o.l.detector.failing(p.To) {
		t.Error("a probe fails that began before a push that was answered")
	}
	if o.l.detector.answeredSince(p.To, began+3) || !o.l.detector.answeredSince(p.To, began+2) {
		t.Error("the last answer is of another time")
	}
}

// TestToldRestoresASuspect: the step that spares a suspect is due immediately.
func TestToldRestoresASuspect(t *testing.T) {
	o := failover(t)
	c := o.l.detector.contacts[inc(3, 1)]
	for suspect := false; !suspect; suspect, _ = c.verdict(o.v, inc(3, 1)) {
		p, _ := o.probed()
		o.v.Mono += p.Timeout
		o.l.Probed(o.v, p, Answer{}, context.DeadlineExceeded)
	}
	o.due()
	if o.l.Due(o.v) == 0 {
		t.Fatal("a step is due before the answer")
	}
	if !o.told(o.v.Mono) || o.l.Due(o.v) != 0 {
		t.Error("no step is due by the answer of a suspect")
	}
	if suspect, _ := c.verdict(o.v, inc(3, 1)); suspect || c.failing {
		t.Error("it answers, and fails")
	}
}

// TestToldDoesNotPutOffWhatRaftAsksFor: Raft may have not reached the member since the push
// began, also while a probe of it fails.
func TestToldDoesNotPutOffWhatRaftAsksFor(t *testing.T) {
	for _, fails := range []bool{false, true} {
		o := failover(t)
		server := ServerOf(inc(3, 1), true)
		if fails {
			p, _ := o.probed()
			o.l.Probed(o.v, p, Answer{}, context.DeadlineExceeded)
		}
		began := o.v.Mono
		o.v.Mono += refusedApart
		o.l.Unreached(o.v, server, false)
		o.told(began)
		if _, after := o.probed(); after > probeSoon+refusedApart {
			t.Errorf("failing %v: it is probed %v after the sign", fails, after)
		}
	}
}

// TestToldByAnotherClaim: a member that is registered under another claim has not answered (A9).
func TestToldByAnotherClaim(t *testing.T) {
	o := failover(t)
	c := o.l.detector.contacts[inc(3, 1)]
	next := c.next
	o.v.Mono += probeMany / 2
	o.l.PushAnswered(o.v, inc(3, 1), o.v.Mono, Answer{Version: o.v.Roster.Version, Claim: "another"})
	if c.next != next {
		t.Error("it puts the next probe off")
	}
}
