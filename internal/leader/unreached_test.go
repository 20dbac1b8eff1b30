package leader

import (
	"context"
	"slices"
	"testing"
	"time"
)

// failover returns a leader of three members that have all answered once, a moment ago.
func failover(t *testing.T) *office {
	t.Helper()
	o := lead(t, 3, true)
	o.assign()
	o.step(0)
	o.answer(forDetection, all)
	for len(o.commands) > 0 {
		c := o.commands[0]
		o.commands = o.commands[1:]
		o.apply(c)
		o.l.Proposed(o.v, c, nil)
		o.step(0)
	}
	o.answer(forDetection, all)
	return o
}

// due lets time pass until the next step is due, makes it, and returns how long that took.
func (o *office) due() time.Duration {
	wait := o.l.Due(o.v)
	o.step(wait)
	return wait
}

// TestRefusedTwiceIsReplacedImmediately: a member whose process ends is replaced by the
// second refused probe, while gossip still sees it. Nothing of it is given up.
func TestRefusedTwiceIsReplacedImmediately(t *testing.T) {
	o := failover(t)
	o.v.Mono += probeMany / 2
	o.l.Unreached(o.v, ServerOf(inc(3, 1), true), false)
	if wait := o.due(); wait != 0 {
		t.Fatalf("the member is probed after %v", wait)
	}
	absent := func(int) error { return ErrAbsent }
	o.answer(forDetection, absent)
	if o.l.detector.contacts[inc(3, 1)].suspect(true, o.v.Mono) {
		t.Fatal("one refusal makes a member suspect that gossip sees")
	}
	if wait := o.due(); wait != refusedApart {
		t.Fatalf("the second probe comes after %v", wait)
	}
	if got := o.take(forDetection); len(got) != 1 || memberOf(got[0].To) != 3 {
		t.Fatalf("probes %v", got)
	} else {
		o.l.Probed(o.v, got[0], Answer{}, ErrAbsent)
	}
	o.commands = nil
	if wait := o.due(); wait != 0 {
		t.Fatalf("the member is replaced after %v", wait)
	}
	if len(o.commands) != 1 || o.commands[0].Change == nil {
		t.Fatalf("proposed %+v", o.commands)
	}
	if c := o.commands[0].Change; len(c.Drop)+len(c.Doubt) == 0 || len(c.Lose)+len(c.Remove) > 0 {
		t.Errorf("proposed %+v", c)
	}
}

// TestUnreachedIsOnlyASign: a member that Raft does not reach is probed, and if it answers,
// nothing else happens. One that is slow is not probed all the time.
func TestUnreachedIsOnlyASign(t *testing.T) {
	o := failover(t)
	server := ServerOf(inc(3, 1), true)
	for range 3 {
		o.v.Mono += refusedApart
		o.l.Unreached(o.v, server, false)
		if o.due(); len(o.probes) == 0 {
			t.Fatal("no probe at a sign")
		}
		o.answer(forDetection, all)
	}
	began := o.v.Mono
	o.l.Unreached(o.v, server, true)
	for got := o.take(forDetection); len(got) == 0; got = o.take(forDetection) {
		if o.due(); o.v.Mono-began > probeMany {
			t.Fatal("no probe of a slow member")
		}
	}
	if after := o.v.Mono - began; after != probeUnsigned {
		t.Errorf("a slow member is probed after %v", after)
	}
	o.l.Unreached(o.v, ServerOf(inc(9, 1), true), false) // of no member
	o.l.Unreached(o.v, ServerOf(inc(1, 1), true), false) // of the leader
}

// TestSignDuringAProbe: a member that answers a probe and then ends is probed again immediately: the sign
// came before the answer.
func TestSignDuringAProbe(t *testing.T) {
	o := failover(t)
	o.step(probeMany)
	got := slices.DeleteFunc(o.take(forDetection), func(p Probe) bool { return memberOf(p.To) != 3 })
	if len(got) != 1 {
		t.Fatalf("%d probes of member 3", len(got))
	}
	o.v.Mono += refusedApart
	o.l.Unreached(o.v, ServerOf(inc(3, 1), true), false)
	o.l.Probed(o.v, got[0], Answer{Version: o.v.Roster.Version}, nil)
	answered := o.v.Mono
	for got = o.take(forDetection); len(got) == 0; got = o.take(forDetection) {
		if o.due(); o.v.Mono-answered > probeMany {
			t.Fatal("no probe")
		}
	}
	if o.v.Mono != answered || memberOf(got[0].To) != 3 {
		t.Errorf("a probe of member %d after %v", memberOf(got[0].To), o.v.Mono-answered)
	}
}

// TestLeaderThatStoodStillSuspectsNoMember: when a leader continues after a pause, the
// probes of before it have failed, and long ago.
func TestLeaderThatStoodStillSuspectsNoMember(t *testing.T) {
	o := failover(t)
	o.step(probeMany)
	before := o.take(forDetection)
	o.v.Mono += 3 * time.Second
	for _, p := range before {
		o.l.Probed(o.v, p, Answer{}, context.DeadlineExceeded)
	}
	for i := 2; i <= 3; i++ {
		if o.l.detector.contacts[inc(i, 1)].suspect(true, o.v.Mono) {
			t.Errorf("member %d is suspect", i)
		}
	}
	continued := o.v.Mono
	for o.due(); !o.l.detector.contacts[inc(2, 1)].probing; o.due() {
		if o.v.Mono-continued > probeSoon {
			t.Fatal("they are not probed soon")
		}
	}
	o.answer(forDetection, all)
	if d := &o.l.detector; d.failing(inc(2, 1)) || d.failing(inc(3, 1)) {
		t.Error("they answer, and fail")
	}
}

// TestSilenceIsNoticedWithinASecond: two probes of a paused member are over
// within 800 ms of the first sign, whatever gossip says.
func TestSilenceIsNoticedWithinASecond(t *testing.T) {
	o := failover(t)
	began := o.v.Mono
	o.l.Unreached(o.v, ServerOf(inc(3, 1), true), true)
	open := map[Probe]time.Duration{} // when they time out
	for !o.l.detector.contacts[inc(3, 1)].suspect(true, o.v.Mono) {
		if o.step(10 * time.Millisecond); o.v.Mono-began > 800*time.Millisecond {
			t.Fatal("it is not suspect")
		}
		for _, p := range o.take(forDetection) {
			if memberOf(p.To) == 3 {
				open[p] = o.v.Mono + p.Timeout
			}
		}
		for p, end := range open {
			if o.v.Mono >= end {
				delete(open, p)
				o.l.Probed(o.v, p, Answer{}, context.DeadlineExceeded)
			}
		}
	}
}

// TestMembersWithoutServerAreProbedMoreOften: Raft says nothing of them.
func TestMembersWithoutServerAreProbedMoreOften(t *testing.T) {
	o := failover(t)
	o.v.Servers = o.v.Servers[:2]
	o.step(probeMany)
	o.answer(forDetection, all)
	o.step(probeUnsigned)
	if got := o.take(forDetection); len(got) != 1 || memberOf(got[0].To) != 3 {
		t.Errorf("probes %v", got)
	}
}
