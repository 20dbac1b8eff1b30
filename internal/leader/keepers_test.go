package leader

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// volatile returns member 1 as the leader of five members without disks, of which the first
// three vote. All but one, by number, run this release; 0 is none.
func volatile(t *testing.T, old int) *office {
	o := lead(t, 5, false)
	o.l.cfg.Release = latest
	o.assign()
	o.step(0)
	o.tell(old)
	return o
}

// latest is the release that has every protocol.
var latest = roster.Release{Max: roster.CurrentProtocol, Build: "v3"}

// tell answers the detector's probes: all members but one have every protocol.
func (o *office) tell(old int) {
	for _, p := range o.take(forDetection) {
		a := Answer{Grid: o.v.Roster.Grid, Version: o.v.Roster.Version, Release: latest}
		if a.Record, _ = o.v.Roster.Member(p.To); memberOf(p.To) == old {
			a.Release = present
		}
		o.l.Probed(o.v, p, a, nil)
	}
}

// plan has the leader plan until nothing is due.
func (o *office) plan(old int) {
	for range 10 {
		o.step(StepEvery)
		o.agree()
		o.tell(old)
	}
}

// TestLeaderNamesVoters: in a grid without disks the voters are named as soon as every
// process can read that, and again when they change.
func TestLeaderNamesVoters(t *testing.T) {
	o := volatile(t, 0)
	o.plan(0)
	want := []roster.Incarnation{inc(1, 1), inc(2, 1), inc(3, 1)}
	if got := o.v.Roster; !slices.Equal(got.Keepers, want) || got.InUse() != roster.Protocol3 {
		t.Fatalf("%v are named at protocol %d, want %v", got.Keepers, got.InUse(), want)
	}
	o.vote(1, 2, 4)
	o.plan(0)
	if want[2] = inc(4, 1); !slices.Equal(o.v.Roster.Keepers, want) {
		t.Errorf("%v are named, want %v", o.v.Roster.Keepers, want)
	}
}

// TestLeaderNamesNoVoters: not while a member of an earlier release would stop at them, and
// not where a voter has a disk.
func TestLeaderNamesNoVoters(t *testing.T) {
	old := volatile(t, 5)
	durable := lead(t, 3, true)
	durable.l.cfg.Release = latest
	durable.assign()
	for what, o := range map[string]*office{"a member of an earlier release": old, "durable voters": durable} {
		o.plan(5)
		if got := o.v.Roster; len(got.Keepers) > 0 || got.InUse() >= roster.Protocol3 {
			t.Errorf("%s: %v are named at protocol %d", what, got.Keepers, got.InUse())
		}
	}
}
