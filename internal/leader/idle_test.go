package leader

import (
	"context"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// resting returns a leader that has rested for a while, and when each of its last steps was.
func resting(t *testing.T) *office {
	t.Helper()
	o := failover(t)
	for range 60 {
		o.beat()
	}
	if !o.l.rests(o.v) {
		t.Fatal("a leader with nothing to do does not rest")
	}
	return o
}

// beat makes the next step when it is due, answers all probes and agrees to all proposals.
func (o *office) beat() (wait time.Duration) {
	wait = o.due()
	o.v.Wall += 100
	for _, why := range []purpose{forDetection, forClocks, forVoters} {
		o.answer(why, all)
	}
	for _, c := range o.commands {
		o.apply(c)
		if c.Raise != nil {
			o.v.Raised = Raise{Time: c.Raise.Time, At: o.v.Mono}
		}
		o.l.Proposed(o.v, c, nil)
	}
	o.commands = nil
	for id, p := range o.v.Roster.Partitions {
		partition := roster.PartitionID(id)
		report := Report{Owner: p.Owner, Persisted: []roster.Persisted{{Partition: partition, Version: o.v.Roster.Version}}}
		if p.Joining != "" {
			report.Held = []roster.Holding{{Replica: roster.Replica{Partition: partition, Member: p.Joining},
				Version: o.v.Roster.Version}}
		}
		if _, err := o.l.Reported(o.v, report); err != nil {
			o.t.Fatal(err)
		}
	}
	return wait
}

// TestLeaderAtRestRaisesAndProbesInTime: it is stepped when something is due, and seldom besides.
func TestLeaderAtRestRaisesAndProbesInTime(t *testing.T) {
	o := resting(t)
	steps, probed, raised := 0, 0, o.v.Raised.Time
	began, raises := o.v.Mono, 0
	for o.v.Mono-began < 20*time.Second {
		o.due()
		steps++
		probed += len(o.take(forDetection))
		for inc, c := range o.l.detector.contacts {
			if c.probing {
				o.l.Probed(o.v, Probe{To: inc, purpose: forDetection, round: c.round, began: c.began},
					Answer{Version: o.v.Roster.Version}, nil)
			}
		}
		o.answer(forClocks, all)
		for _, c := range o.commands {
			o.apply(c)
			o.v.Raised = Raise{Time: c.Raise.Time, At: o.v.Mono}
			o.l.Proposed(o.v, c, nil)
			raises++
		}
		o.commands = nil
		o.v.Wall = 1_800_000_000_000 + window
	}
	if want := 20 * roster.RaisesPerWindow * int(time.Second/time.Millisecond) / window; raises < want-1 {
		t.Errorf("%d raises in 20 s, want %d; the first at %d", raises, want, raised)
	}
	if probed < 2*int(20*time.Second/probeMany) {
		t.Errorf("%d probes of two members in 20 s", probed)
	}
	if steps > 90 {
		t.Errorf("%d steps in 20 s", steps)
	}
}

// TestLeaderThatHasSomethingToDoDoesNotRest: news ends a rest, and the step follows immediately.
func TestLeaderThatHasSomethingToDoDoesNotRest(t *testing.T) {
	news := map[string]func(o *office){
		"a request to join": func(o *office) { o.l.Join(o.v, record(9, true), func(error) {}) },
		"a member leaves":   func(o *office) { o.v.Leaving = true },
		"a probe fails": func(o *office) {
			o.l.Unreached(o.v, ServerOf(inc(3, 1), true), false)
			for fails := 0; fails < 3; o.due() {
				for _, p := range o.take(forDetection) {
					if p.To == inc(3, 1) {
						o.l.Probed(o.v, p, Answer{}, context.DeadlineExceeded)
						fails++
					} else {
						o.l.Probed(o.v, p, Answer{Version: o.v.Roster.Version}, nil)
					}
				}
			}
		},
		"an operator removes a member": func(o *office) {
			o.l.RemoveMember(o.v, inc(3, 1).Member(), "", func(Removed, error) {})
		},
		"another peer": func(o *office) {
			o.v.Peers = append(o.v.Peers, Peer{Incarnation: inc(9, 1)})
			o.step(0)
		},
		"a server is gone": func(o *office) {
			o.v.Servers = o.v.Servers[:2]
			o.step(0)
		},
	}
	for name, happens := range news {
		t.Run(name, func(t *testing.T) {
			o := resting(t)
			happens(o)
			if wait := o.l.Due(o.v); wait > StepEvery {
				t.Errorf("the next step is due in %v", wait)
			}
		})
	}
}
