package leader

import (
	"testing"
	"time"
)

func TestDepartures(t *testing.T) {
	d := departures{}
	d.note(map[ServerID]bool{"a": true}, time.Minute)
	d.note(map[ServerID]bool{"a": true, "b": true}, time.Minute+5*time.Second)
	for _, c := range []struct {
		id       ServerID
		majority bool
		after    time.Duration
		want     bool
	}{
		{"a", true, 0, true}, {"a", true, 29 * time.Second, true}, {"a", true, 31 * time.Second, false},
		{"a", false, 9 * time.Second, true}, {"a", false, 11 * time.Second, false},
		{"b", false, 14 * time.Second, true}, {"b", false, 16 * time.Second, false},
		{"c", true, 0, false}, {"c", false, 0, false},
	} {
		if got := d.keepsVote(c.id, c.majority, time.Minute+c.after); got != c.want {
			t.Errorf("%s, majority %v, after %v: %v", c.id, c.majority, c.after, got)
		}
	}
	d.note(map[ServerID]bool{"b": true}, 2*time.Minute)
	if len(d) != 1 {
		t.Errorf("one that stays is still recorded: %v", d)
	}
}

// TestDeparted: a member that leaves may end when it is out of the roster and its server
// is removed, or its vote may stay behind: with a disk, and with a majority of voters
// that stay and are seen.
func TestDeparted(t *testing.T) {
	for what, c := range map[string]struct {
		durable, in, served, unseen, leaves, silent, want bool
	}{
		"in the roster":                  {durable: true, in: true, served: true},
		"out of both":                    {durable: true, want: true},
		"a vote on disk stays behind":    {durable: true, served: true, want: true},
		"a vote without a disk":          {served: true},
		"a voter that stays is unseen":   {durable: true, served: true, unseen: true},
		"a voter that stays also leaves": {durable: true, served: true, leaves: true},
		"a voter that stays is silent":   {durable: true, served: true, silent: true},
	} {
		o := lead(t, 3, c.durable)
		server := o.v.Servers[2].ID
		if !c.in {
			out := *o.v.Roster
			out.Members = out.Members[:2]
			o.v.Roster = &out
		}
		if !c.served {
			o.v.Servers = o.v.Servers[:2]
		}
		if c.unseen {
			o.v.Peers = o.v.Peers[:1]
		}
		o.v.Peers[len(o.v.Peers)-1].Leaving = true
		if c.leaves {
			o.l.admission.leaves[inc(2, 1)] = true
		}
		o.l.admission.leaves[inc(3, 1)] = true
		o.l.voters.departing(o.v, map[ServerID]bool{o.v.Servers[0].ID: true, o.v.Servers[1].ID: true})
		if !c.silent {
			o.l.detector.contacts[inc(2, 1)] = &contact{answered: o.v.Mono}
		}
		if got := o.l.Departed(o.v, inc(3, 1), server); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestDepartureAsksAgain: when a voter is seen to leave, the members are probed without
// waiting for their next time: the leave waits for their answers.
func TestDepartureAsksAgain(t *testing.T) {
	o := lead(t, 3, true)
	stays := &contact{answered: o.v.Mono, next: o.v.Mono + probeMany}
	o.l.detector.contacts[inc(2, 1)] = stays
	o.v.Mono += time.Millisecond
	if o.l.detector.step(o.v); stays.probing {
		t.Fatal("a member is probed before its time")
	}
	o.l.admission.leaves[inc(3, 1)] = true
	o.l.voters.departing(o.v, map[ServerID]bool{o.v.Servers[0].ID: true, o.v.Servers[1].ID: true})
	if o.l.detector.step(o.v); !stays.probing {
		t.Error("a voter leaves, and no member is probed")
	}
}

// TestLeaveBesideAnUnseenVoter: a voter that gossip does not see, since its gossip key differs or its gossip port is
// blocked, answers calls and agrees. The vote of a member that left is kept for voteAwaited, and is removed then by
// the answer of that voter.
func TestLeaveBesideAnUnseenVoter(t *testing.T) {
	for _, after := range []time.Duration{voteAwaited / 2, voteAwaited + time.Second} {
		o := lead(t, 3, true)
		o.assign()
		server := o.v.Servers[2].ID
		o.unseen(2)
		o.v.Peers[1].Leaving = true // the third
		o.l.admission.leaves[inc(3, 1)] = true
		o.without(3)
		o.l.voters.departures[server] = o.v.Mono - after
		o.settle()
		if got, want := o.l.Departed(o.v, inc(3, 1), server), after > voteAwaited; got != want {
			t.Errorf("after %v: departed %v, want %v; %v vote", after, got, want, o.votes())
		}
	}
}
