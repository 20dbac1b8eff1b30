package leader

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// volatile returns member 1 as the leader of five members without disks, of which the first
// three vote.
func volatile(t *testing.T) *office {
	o := lead(t, 5, false)
	o.assign()
	o.step(0)
	o.tell()
	return o
}

// tell answers the detector's probes.
func (o *office) tell() {
	for _, p := range o.take(forDetection) {
		a := Answer{Grid: o.v.Roster.Grid, Version: o.v.Roster.Version}
		a.Record, _ = o.v.Roster.Member(p.To)
		o.l.Probed(o.v, p, a, nil)
	}
}

// plan has the leader plan until nothing is due.
func (o *office) plan() {
	for range 10 {
		o.step(StepEvery)
		o.agree()
		o.tell()
	}
}

// TestLeaderNamesVoters: in a grid without disks the voters are named as soon as every
// process can read that, and again when they change.
func TestLeaderNamesVoters(t *testing.T) {
	o := volatile(t)
	o.plan()
	want := []roster.Incarnation{inc(1, 1), inc(2, 1), inc(3, 1)}
	if got := o.v.Roster; !slices.Equal(got.Keepers, want) {
		t.Fatalf("%v are named, want %v", got.Keepers, want)
	}
	o.vote(1, 2, 4)
	o.plan()
	if want[2] = inc(4, 1); !slices.Equal(o.v.Roster.Keepers, want) {
		t.Errorf("%v are named, want %v", o.v.Roster.Keepers, want)
	}
}

// TestLeaderNamesNoVoters: not where a voter has a disk.
func TestLeaderNamesNoVoters(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.plan()
	if got := o.v.Roster; len(got.Keepers) > 0 {
		t.Errorf("%v are named", got.Keepers)
	}
}
