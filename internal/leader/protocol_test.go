//go:build nextrelease

package leader

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

var present = roster.Release{Min: roster.Protocol1, Max: roster.Protocol2, Build: "v2"}

// mixed returns member 1 of the present release as the leader of three, of which old is of
// the release before.
func mixed(t *testing.T, old int) *office {
	o := lead(t, 3, true)
	o.run(present)
	o.assign()
	o.step(0)
	o.answerAs(old)
	return o
}

// answerAs answers the detector's probes: a member runs the release before.
func (o *office) answerAs(old int) {
	for _, p := range o.take(forDetection) {
		a := Answer{Grid: o.v.Roster.Grid, Version: o.v.Roster.Version, Release: present}
		a.Record, _ = o.v.Roster.Member(p.To)
		if memberOf(p.To) == old {
			a.Release = roster.Release{}
		}
		o.l.Probed(o.v, p, a, nil)
	}
}

// need asks for protocol 2, and returns the answers.
func (o *office) need() *[]error {
	answers := new([]error)
	o.l.Need(o.v, roster.Protocol2, "a new part", func(err error) { *answers = append(*answers, err) })
	return answers
}

// TestProtocolIsRaisedWhenNeeded: not because every member has it, and at the first need.
func TestProtocolIsRaisedWhenNeeded(t *testing.T) {
	o := mixed(t, 0)
	for range 20 {
		o.step(StepEvery)
		o.answerAs(0)
		o.agree()
	}
	if o.v.Roster.Protocol != 0 {
		t.Fatal("raised although nothing needs it")
	}
	answers := o.need()
	o.agree()
	o.step(StepEvery)
	if o.v.Roster.InUse() != roster.Protocol2 || len(*answers) != 1 || (*answers)[0] != nil {
		t.Fatalf("protocol %d, answers %v", o.v.Roster.InUse(), *answers)
	}
	if again := o.need(); len(*again) != 1 || (*again)[0] != nil {
		t.Errorf("needed again: %v", *again)
	}
}

// TestProtocolWaitsForEveryMember: a member of the release before is named, and one that
// has not said which it runs is waited for.
func TestProtocolWaitsForEveryMember(t *testing.T) {
	o := mixed(t, 3)
	answers := o.need()
	if len(*answers) != 1 || !errors.Is((*answers)[0], ErrNotNow) ||
		!strings.Contains((*answers)[0].Error(), "m3:1 runs snowgrid of an unknown build (protocol 1)") {
		t.Errorf("with a member of protocol 1: %v", *answers)
	}
	o = lead(t, 3, true)
	o.run(present)
	o.assign()
	o.step(0)
	probes := o.take(forDetection)
	answers = o.need()
	o.agree()
	if o.step(protocolPatience / 2); o.v.Roster.Protocol != 0 || len(*answers) != 0 {
		t.Fatalf("before the members have answered: protocol %d, %v", o.v.Roster.InUse(), *answers)
	}
	late := o.need()
	o.step(protocolPatience)
	if len(*answers) != 1 || !errors.Is((*answers)[0], ErrUnavailable) ||
		!strings.Contains((*answers)[0].Error(), "has not answered yet") {
		t.Errorf("members that never answer: %v", *answers)
	}
	o.probes = probes
	o.answerAs(0)
	o.agree()
	waiting := o.need()
	o.agree()
	o.step(StepEvery)
	if o.v.Roster.InUse() != roster.Protocol2 || len(*waiting) != 1 || (*waiting)[0] != nil || len(*late) != 1 {
		t.Errorf("after they have: protocol %d, %v, %v", o.v.Roster.InUse(), *waiting, *late)
	}
}

// TestProtocolIsLoweredWhenUnused: after a time without a need, so that members may go
// back to the release before.
func TestProtocolIsLoweredWhenUnused(t *testing.T) {
	o := mixed(t, 0)
	o.need()
	o.agree()
	for o.v.Mono < time.Hour+lowerAfter-time.Second {
		o.step(time.Second)
		o.answerAs(0)
		o.agree()
	}
	if o.v.Roster.InUse() != roster.Protocol2 {
		t.Fatal("lowered too early")
	}
	o.need() // once more
	for range int(lowerAfter/time.Second) - 1 {
		o.step(time.Second)
		o.answerAs(0)
		o.agree()
	}
	if o.v.Roster.InUse() != roster.Protocol2 {
		t.Fatal("lowered although it was needed")
	}
	o.step(2 * time.Second)
	o.agree()
	if o.v.Roster.InUse() != roster.Protocol1 {
		t.Error("not lowered")
	}
}

// TestJoinOfOlderReleaseIsRefused: once the roster has a protocol, and also if the join was
// confirmed before.
func TestJoinOfOlderReleaseIsRefused(t *testing.T) {
	join := func(o *office, release roster.Release) (got error) {
		in := record(4, true)
		o.l.Join(o.v, in, func(err error) { got = err })
		for _, p := range o.take(forInquiry) {
			o.l.Probed(o.v, p, Answer{Record: in, Grid: o.v.Roster.Grid, Release: release}, nil)
		}
		return got
	}
	o := mixed(t, 0)
	if err := join(o, roster.Release{}); err != nil {
		t.Fatalf("a member of protocol 1 in a grid that uses it: %v", err)
	}
	o.need()
	o.agree()
	o.v.Servers = append(o.v.Servers, Server{ID: ServerOf(inc(4, 1), true)})
	o.step(StepEvery)
	o.agree()
	if _, in := o.v.Roster.Member(inc(4, 1)); in {
		t.Error("a member of protocol 1 joined a grid of protocol 2")
	}
	o.step(joinKept)
	want := `the member at "m4:1" runs snowgrid of an unknown build (protocol 1), the leader snowgrid v2 (protocols 1 to 2), and the grid uses protocol 2; start the member with a release that has protocol 2`
	if err := join(o, roster.Release{}); !errors.Is(err, ErrBadRequest) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant ... %s", err, want)
	}
	if err := join(mixed(t, 0), roster.Release{Min: 3, Max: 4, Build: "v4"}); !errors.Is(err, ErrBadRequest) ||
		!strings.Contains(err.Error(), "v4 (protocols 3 to 4)") {
		t.Errorf("a release of later protocols: %v", err)
	}
	if err := join(o, present); err != nil {
		t.Errorf("the present release: %v", err)
	}
}

// TestNeedIsBounded: requests that wait are as many as may be, and each is answered when
// the lead ends.
func TestNeedIsBounded(t *testing.T) {
	o := lead(t, 3, true)
	o.run(present)
	answers := 0
	for range protocolWaits {
		o.l.Need(o.v, roster.Protocol2, "a new part", func(err error) { answers++ })
	}
	if more := o.need(); answers != 0 || len(*more) != 1 || !errors.Is((*more)[0], ErrUnavailable) {
		t.Errorf("%d answers, one more request: %v", answers, *more)
	}
	o.l.Resign()
	if answers != protocolWaits {
		t.Errorf("%d of %d requests are answered at the end", answers, protocolWaits)
	}
}

// TestProtocolWaitsForVotersThatWereRemoved: a member that was removed, and has a vote and no
// disk, would end on a roster that it cannot read, and its vote with it.
func TestProtocolWaitsForVotersThatWereRemoved(t *testing.T) {
	for _, durable := range []bool{true, false} {
		o := lead(t, 3, durable)
		o.v.Servers = append(o.v.Servers, Server{ID: ServerOf(inc(9, 1), durable), Voter: true})
		if _, silent := o.l.protocols.lacking(o.v, roster.Protocol2); (len(silent) == 3) != !durable {
			t.Errorf("durable %v: awaited: %v", durable, silent)
		}
	}
}
