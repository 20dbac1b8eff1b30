package leader

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// TestDetectorJudgesByItsOwnProbes: a member that gossip does not see is neither suspect
// nor dead while the leader's own probes are answered. One refusal counts where gossip
// does not see the member, and two make one suspect that gossip sees. Silence counts only
// when it lasts over two probes, and so does an answer by an old roster (R7).
func TestDetectorJudgesByItsOwnProbes(t *testing.T) {
	silence := context.DeadlineExceeded
	for what, c := range map[string]struct {
		err                 error
		lags, seen, once    bool
		after               time.Duration
		suspectWanted, dead bool
	}{
		"answers, unseen":         {after: time.Hour},
		"silent for a moment":     {err: silence, after: suspectAfter - 1},
		"silent":                  {err: silence, after: suspectAfter, suspectWanted: true},
		"silent, seen":            {err: silence, seen: true, after: suspectAfter, suspectWanted: true},
		"silent once":             {err: silence, once: true, after: suspectAfter},
		"silent for long":         {err: silence, after: deadAfter, suspectWanted: true, dead: true},
		"silent for long, seen":   {err: silence, seen: true, after: deadAfter, suspectWanted: true},
		"absent once":             {err: ErrAbsent, once: true, suspectWanted: true, dead: true},
		"absent once, seen":       {err: ErrAbsent, once: true, seen: true},
		"absent too soon, seen":   {err: ErrAbsent, seen: true, after: refusedApart - 1},
		"absent, seen":            {err: ErrAbsent, seen: true, after: refusedApart, suspectWanted: true},
		"absent for long, seen":   {err: ErrAbsent, seen: true, after: deadAfter, suspectWanted: true},
		"lags for a while":        {lags: true, seen: true, after: suspectAfter + seenExtra - 1},
		"answers by an old one":   {lags: true, seen: true, after: suspectAfter + seenExtra, suspectWanted: true},
		"answers by an older one": {lags: true, seen: true, after: deadAfter + seenExtra, suspectWanted: true, dead: true},
	} {
		m := &contact{round: 1}
		d := detector{timer: new(stepTimer), contacts: map[roster.Incarnation]*contact{"m": m},
			versions: []seenVersion{{version: 8}}}
		v := View{Roster: &roster.Roster{}}
		a := Answer{Version: 8}
		if c.lags {
			a.Version = 7
		}
		now := time.Minute + c.after
		for v.Mono = time.Minute; ; v.Mono = min(v.Mono+time.Second, now) {
			d.probed(v, Probe{To: "m", round: 1, began: v.Mono}, a, c.err)
			if c.once || v.Mono == now && v.Mono > time.Minute {
				break
			}
		}
		if s, g := m.suspect(c.seen, now), m.dead(c.seen, now); s != c.suspectWanted || g != c.dead {
			t.Errorf("%s: suspect %v, dead %v", what, s, g)
		}
		d.probed(v, Probe{To: "m", round: 1, began: now}, Answer{Version: 8}, nil)
		if m.suspect(c.seen, now+time.Hour) || m.dead(c.seen, now+time.Hour) {
			t.Errorf("%s: it answers again and is suspect", what)
		}
	}
}

// TestLeaderThatStoodStillKnowsNothing: what a leader knew of a silent member before it was paused
// itself makes that one neither suspect nor dead, and silence of before and after are two.
func TestLeaderThatStoodStillKnowsNothing(t *testing.T) {
	const long = deadAfter + seenExtra + standstill
	m := &contact{round: 1}
	d := detector{timer: new(stepTimer), contacts: map[roster.Incarnation]*contact{"m": m}}
	v := View{Roster: &roster.Roster{}, Mono: time.Minute}
	fail := func(took time.Duration) {
		p := Probe{To: "m", round: 1, began: v.Mono, Timeout: detectTimeout}
		v.Mono += took
		d.probed(v, p, Answer{}, context.DeadlineExceeded)
	}
	fail(long)
	if m.failing || m.next != v.Mono {
		t.Errorf("after a probe in which the leader stood still: %+v", m)
	}
	for _, begun := range []bool{false, true} {
		for range 3 {
			fail(detectTimeout)
		}
		if !m.suspect(true, v.Mono) || m.dead(true, v.Mono) {
			t.Errorf("three probes failed: suspect %v, dead %v", m.suspect(true, v.Mono), m.dead(true, v.Mono))
		}
		if begun { // the leader stands still during a probe
			fail(long)
		} else {
			v.Mono += long
		}
		if m.suspect(false, v.Mono) || m.dead(false, v.Mono) || m.lost(false, v.Mono) {
			t.Errorf("the leader stood still, in a probe %v: suspect %v, dead %v, lost %v", begun, m.suspect(false, v.Mono),
				m.dead(false, v.Mono), m.lost(false, v.Mono))
		}
		if fail(detectTimeout); m.suspect(false, v.Mono) || m.dead(false, v.Mono) {
			t.Errorf("one probe failed after that: suspect %v, dead %v", m.suspect(false, v.Mono), m.dead(false, v.Mono))
		}
	}
}

// TestDetectorProbesEveryMember: each member but the leader is probed again and again,
// one probe at a time, and sooner while it does not answer. A sight has those that are
// suspect, and those that are dead.
func TestDetectorProbesEveryMember(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.step(0)
	if got := o.take(forDetection); len(got) != 2 {
		t.Fatalf("%d probes at the first step", len(got))
	} else {
		o.step(detectTimeout)
		if more := o.take(forDetection); len(more) > 0 {
			t.Fatalf("%d probes before an outcome", len(more))
		}
		o.l.Probed(o.v, got[0], Answer{Version: o.v.Roster.Version}, nil)
		o.l.Probed(o.v, got[1], Answer{}, context.DeadlineExceeded)
	}
	o.step(probeSoon)
	if got := o.take(forDetection); len(got) != 1 || memberOf(got[0].To) != 3 {
		t.Errorf("probes %v after a failure of member 3", got)
	} else {
		o.l.Probed(o.v, got[0], Answer{}, context.DeadlineExceeded)
	}
	o.step(probeSoon)
	if got := o.take(forDetection); len(got) > 0 {
		t.Errorf("probes %v soon after a second failure", got)
	}
	o.step(probeAgain - probeSoon)
	if got := o.take(forDetection); len(got) != 1 || memberOf(got[0].To) != 3 {
		t.Errorf("probes %v after a second failure", got)
	} else {
		o.l.Probed(o.v, got[0], Answer{}, context.DeadlineExceeded)
	}
	var s plan.Sight
	o.l.detector.judge(o.v, &s)
	if len(s.Silent) != 1 || memberOf(s.Silent[0]) != 3 || len(s.Gone) > 0 {
		t.Errorf("silent %v, gone %v after a third failure", s.Silent, s.Gone)
	}
	const long = deadAfter + seenExtra
	of2 := 0
	for range long / probeAgain {
		o.step(probeAgain)
		of2 += len(slices.DeleteFunc(slices.Clone(o.probes), func(p Probe) bool {
			return p.purpose != forDetection ||
				memberOf(p.To) != 2
		}))
		o.answer(forDetection, func(member int) error {
			if member == 3 {
				return context.DeadlineExceeded
			}
			return nil
		})
	}
	s = plan.Sight{}
	o.l.detector.judge(o.v, &s)
	if len(s.Silent) > 0 || len(s.Gone) != 1 || memberOf(s.Gone[0]) != 3 {
		t.Errorf("silent %v, gone %v after %v", s.Silent, s.Gone, long)
	}
	if want := int(long / probeMany); of2 != want {
		t.Errorf("%d probes of a member that answers in %v, want %d", of2, long, want)
	}
}

// TestDetectorForgetsEarlierProbes: a probe of before a member was removed says nothing
// of it when it has joined again.
func TestDetectorForgetsEarlierProbes(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.step(0)
	old := o.take(forDetection)
	members := o.v.Roster
	out := *members
	out.Members = members.Members[:1]
	o.v.Roster = &out
	o.step(StepEvery)
	o.v.Roster = members
	o.step(StepEvery)
	for _, p := range old {
		o.l.Probed(o.v, p, Answer{}, ErrAbsent)
	}
	if o.l.detector.failing(inc(2, 1)) || len(o.take(forDetection)) != 2 {
		t.Error("a probe of before counts")
	}
}

// TestDetectorKeepsOldVersions: a member lags when it has not applied a version that the
// leader has known for two seconds.
func TestDetectorKeepsOldVersions(t *testing.T) {
	var d detector
	for i := range 5 {
		d.noteVersion(roster.Version(i+1), time.Duration(i)*time.Second)
	}
	if d.versions[0].version != 3 {
		t.Errorf("members must have version %d, want 3", d.versions[0].version)
	}
	d.noteVersion(5, time.Hour)
	if d.versions[0].version != 5 || len(d.versions) != 1 {
		t.Errorf("versions %v after an hour", d.versions)
	}
}

// TestProbeTimeout: a probe waits for twice the usual time of a member's answers, and within bounds. One slow answer
// changes little.
func TestProbeTimeout(t *testing.T) {
	for _, test := range []struct {
		trips []time.Duration // in ms
		want  time.Duration
	}{
		{nil, probeTimeout},
		{[]time.Duration{1}, detectTimeout}, {[]time.Duration{120}, detectTimeout},
		{[]time.Duration{200}, 400 * time.Millisecond}, {[]time.Duration{240, 160}, 460 * time.Millisecond},
		{[]time.Duration{1, 1, 400}, detectTimeout}, {[]time.Duration{400, 400}, probeTimeout},
	} {
		o := lead(t, 2, true)
		o.assign()
		o.step(0)
		for _, trip := range test.trips {
			p := o.take(forDetection)[0]
			o.v.Mono += trip * time.Millisecond
			o.l.Probed(o.v, p, Answer{Version: o.v.Roster.Version}, nil)
			o.step(probeMany)
		}
		if got := o.take(forDetection); len(got) != 1 || got[0].Timeout != test.want {
			t.Errorf("after answers in %v ms: %+v, want a timeout of %v", test.trips, got, test.want)
		}
	}
}
