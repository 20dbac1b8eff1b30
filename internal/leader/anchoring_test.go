package leader

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// The first claim of these tests, and the ceiling of lead's roster.
const (
	claim1 = roster.Claim("00000000000000000000000000000001")
	claim2 = roster.Claim("00000000000000000000000000000002")
	start  = clustertime.Tick(1_800_000_000_000)
)

// anchoredLead is the lead of a grid under a claim; registered says whether the leader
// was registered by it, or is another start of member 1.
func anchoredLead(t *testing.T, n int, durable, registered bool) *office {
	o := lead(t, n, durable)
	o.apply(roster.Command{From: o.v.Roster.Version, Reset: &roster.Reset{Claim: claim1, Found: start,
		Leader: record(1, durable)}})
	self := record(1, durable)
	if !registered {
		self.Incarnation = inc(1, 2)
		o.v.Peers[0].Incarnation = self.Incarnation
	}
	o.l = New(Config{Self: self, Grid: roster.GridID{7}, Expect: n, Anchored: true}, o)
	o.v.Draw = anchor.Draw{Claim: claim2, Nonce: "n"}
	return o
}

// seen answers the open step of the record: a read shows a record, a swap happens.
func (o *office) seen(record anchor.Record) {
	o.t.Helper()
	if len(o.records) != 1 {
		o.t.Fatalf("steps %+v", o.records)
	}
	s := o.records[0]
	o.records = nil
	out := anchor.Outcome{Seen: anchor.Seen{Record: record, Revision: "1"}}
	if s.Swap != nil {
		out.Seen = anchor.Seen{Revision: "2"}
	}
	o.l.Anchored(o.v, s, out)
}

// TestStrangerResetsFirst: a leader that is not a member proposes nothing but a reset,
// once it has taken the record (A3).
func TestStrangerResetsFirst(t *testing.T) {
	o := anchoredLead(t, 1, false, false)
	o.l.reports.earlier = 0
	for range 30 {
		o.step(StepEvery)
	}
	if len(o.commands) > 0 || len(o.changes) > 0 {
		t.Fatalf("commands %+v, changes %+v before the record was read", o.commands, o.changes)
	}
	o.seen(anchor.Record{Claim: claim1, Ceiling: start - 1, Holder: inc(1, 1)})
	o.step(StepEvery)
	if len(o.commands) > 0 {
		t.Fatalf("%+v before the record was taken", o.commands)
	}
	if s := o.records[0].Swap; s == nil || s.Kind != anchor.Take || s.Record.Claim != claim2 || s.Revision != "1" {
		t.Fatalf("swap %+v", s)
	}
	o.seen(anchor.Record{})
	o.step(StepEvery)
	if len(o.commands) != 1 || o.commands[0].Reset == nil || o.commands[0].Claim != claim1 {
		t.Fatalf("commands %+v", o.commands)
	}
	c := o.commands[0]
	o.apply(c)
	o.l.Proposed(o.v, c, nil)
	o.step(StepEvery)
	if len(o.commands) != 2 || o.commands[1].Change == nil || o.commands[1].Claim != claim2 {
		t.Errorf("after the reset: %+v", o.commands)
	}
}

// TestRequestsBeforeTheReset: a leader that has not reset the roster proposes no protocol, no disk to forget,
// no settings and no numbers either, whether the roster has a claim or not. It answers instead (A3).
func TestRequestsBeforeTheReset(t *testing.T) {
	for _, claim := range []roster.Claim{"", claim1} {
		o := anchoredLead(t, 1, true, claim == "") // a roster without a claim has members, too
		r := *o.v.Roster
		r.Claim, r.Anchored = claim, true
		r.Partitions = slices.Clone(r.Partitions)
		r.Partitions[1].Disk = []roster.MemberID{"00000000000000ff"}
		o.v.Roster = &r
		next := roster.CurrentProtocol + 1
		o.run(roster.Release{Min: roster.OldestProtocol, Max: next})
		o.l.reports.earlier = 0
		answers := map[string]error{}
		note := func(of string) func(error) { return func(err error) { answers[of] = err } }
		o.l.Need(o.v, next, "a new part", note("protocol"))
		o.l.SetSettings(o.v, SettingsRequest{Backups: number(0), WindowStated: true}, note("settings"))
		o.l.ForgetDisk(o.v, ForgetRequest{Disk: "00000000000000ff", LoseDefinitions: true},
			func(_ Forgotten, err error) { note("disk")(err) })
		o.l.Numbers(o.v).Request(numbers.Command{Cluster: "c", Name: "s",
			Apply: &numbers.Application{ID: 1, Code: numbers.Code{1}}},
			func(out numbers.Outcome) { note("number")(out.Err) })
		for range 2 * protocolPatience / StepEvery {
			o.step(StepEvery)
		}
		if len(o.commands) > 0 {
			t.Errorf("claim %q: proposed %+v", claim, o.commands)
		}
		for of, want := range map[string]error{"protocol": ErrUnavailable, "settings": ErrNotNow, "disk": ErrNotNow} {
			if err, answered := answers[of]; !answered || !errors.Is(err, want) {
				t.Errorf("claim %q: %s: answered %v, %v, want %v", claim, of, answered, err, want)
			}
		}
		if answers["number"] == nil {
			t.Errorf("claim %q: a number is agreed on", claim)
		}
	}
}

// TestStrangerPassesTheLead: to a voter that is registered, answers, and has not given up the claim; it takes the
// record itself if none does.
func TestStrangerPassesTheLead(t *testing.T) {
	for _, c := range []struct{ silent, voided bool }{{}, {silent: true}, {voided: true}} {
		o, answers := anchoredLead(t, 3, true, false), !c.silent && !c.voided
		o.step(StepEvery)
		if len(o.records) > 0 {
			t.Fatal("the record is read before another could lead")
		}
		asked := o.take(forSuccession)
		if len(asked) != 2 {
			t.Fatalf("asked %+v", asked)
		}
		for _, p := range asked {
			a, err := Answer{Claim: o.v.Roster.Claim}, errors.New("silent")
			if c.voided {
				a.Claim = ""
			}
			if !c.silent && p.To == inc(2, 1) {
				err = nil
			}
			o.l.Probed(o.v, p, a, err)
		}
		o.step(StepEvery)
		if answers != (len(o.leads) == 1) || answers == (len(o.records) == 1) {
			t.Errorf("answers %v: leads %v, steps of the record %+v", answers, o.leads, o.records)
		}
		if answers { // it does not take it
			o.l.LeadTransferred()
			if o.step(StepEvery); len(o.records) != 1 {
				t.Error("the transfer failed, and the record is not read")
			}
		}
	}
}

// TestMemberWithoutTheStore: it leads an anchored grid whose roster has it, raises
// nothing, and passes the lead on if the roster does not have it.
func TestMemberWithoutTheStore(t *testing.T) {
	o := anchoredLead(t, 1, false, true)
	o.l = New(Config{Self: record(1, false), Grid: roster.GridID{7}, Expect: 1}, o)
	if status, anchored := o.l.AnchorStatus(o.v); !anchored || status.State != Unanchored {
		t.Errorf("%+v, %v", status, anchored)
	}
	o.assignAnchored()
	o.step(time.Second)
	if c := o.raises(); len(c) != 1 || c[0].Raise.Limit != 0 || c[0].Claim != claim1 {
		t.Errorf("%+v", c)
	}
	o = anchoredLead(t, 3, true, false)
	o.l = New(Config{Self: o.l.cfg.Self, Grid: roster.GridID{7}, Expect: 3}, o)
	for range 20 {
		o.step(StepEvery)
	}
	if len(o.commands)+len(o.changes)+len(o.records) > 0 || len(o.take(forSuccession)) == 0 {
		t.Errorf("commands %+v, changes %+v", o.commands, o.changes)
	}
}

// assignAnchored gives every partition to the leader.
func (o *office) assignAnchored() {
	o.t.Helper()
	c := roster.Change{}
	for id := range o.v.Roster.Partitions {
		c.Lose = append(c.Lose, roster.Loss{Partition: roster.PartitionID(id), Owner: inc(1, 1)})
	}
	o.apply(roster.Command{From: o.v.Roster.Version, Claim: o.v.Roster.Claim, Change: &c})
	o.commands = nil
}

// TestRaiseHasTheLimit: of the record as it was seen; one that was held back is repeated
// when the limit rises.
func TestRaiseHasTheLimit(t *testing.T) {
	o := anchoredLead(t, 1, false, true)
	o.assignAnchored()
	o.step(0)
	o.seen(anchor.Record{Claim: claim1, Ceiling: start + 1000, Holder: inc(1, 1)})
	o.step(time.Second)
	agree := func(limit clustertime.Tick) {
		t.Helper()
		c := o.raises()
		if len(c) != 1 || c[0].Raise.Limit != limit || c[0].Claim != claim1 {
			t.Fatalf("raises %+v, want one with limit %d", c, limit)
		}
		o.apply(c[0])
		o.l.Proposed(o.v, c[0], nil)
		o.commands = nil
	}
	agree(0) // proposed before the record was read
	o.step(0)
	agree(start + 1000)
	if len(o.records) != 1 || o.records[0].Swap == nil || o.records[0].Swap.Kind != anchor.Extend {
		t.Fatalf("%+v", o.records)
	}
	limit := o.records[0].Swap.Record.Ceiling
	o.seen(anchor.Record{})
	o.step(0)
	agree(limit)
	if o.step(0); len(o.raises()) > 0 {
		t.Error("a raise that is not held back is repeated immediately")
	}
}

// raises returns the raises that were proposed.
func (o *office) raises() (out []roster.Command) {
	for _, c := range o.commands {
		if c.Raise != nil {
			out = append(out, c)
		}
	}
	return out
}

// TestEarlierGrantsNeedTheLimit: floors go above a grant of an earlier grid only once the
// record says so (A2).
func TestEarlierGrantsNeedTheLimit(t *testing.T) {
	o := anchoredLead(t, 1, false, true)
	o.assignAnchored()
	o.step(0)
	o.seen(anchor.Record{Claim: claim1, Ceiling: start, Holder: inc(1, 1)})
	o.l.ShowEarlier(start + 50_000)
	granted := func() (out []roster.Change) {
		for _, c := range o.commands {
			if c.Change != nil && c.Change.Granted > 0 {
				out = append(out, *c.Change)
			}
		}
		return out
	}
	o.l.changes.pending = false
	o.step(StepEvery)
	if got := granted(); len(got) > 0 {
		t.Fatalf("%+v beyond the limit", got)
	}
	o.seen(anchor.Record{})
	o.l.changes.pending = false
	o.step(StepEvery)
	if got := granted(); len(got) != 1 || got[0].Granted != start+50_000 || got[0].Limit < start+50_000 {
		t.Errorf("%+v", got)
	}
}

// TestMembersOfAnotherClaim: a member that answers under another claim is of another
// grid: it counts as silent, does not join, and its identity is not in use here (A9).
func TestMembersOfAnotherClaim(t *testing.T) {
	o := anchoredLead(t, 3, true, true)
	o.step(0)
	for _, p := range o.take(forDetection) {
		o.l.Probed(o.v, p, Answer{Grid: o.v.Roster.Grid, Version: o.v.Roster.Version, Claim: claim2}, nil)
	}
	if !o.l.detector.failing(inc(2, 1)) || !o.l.detector.failing(inc(3, 1)) {
		t.Error("members of another claim count as answering")
	}
	in := record(2, true)
	in.Incarnation = inc(2, 2)
	var results []error
	join := func(newcomer, other roster.Claim) {
		o.l.Join(o.v, in, func(err error) { results = append(results, err) })
		for _, claim := range []roster.Claim{newcomer, other} {
			for _, p := range o.take(forInquiry) {
				a := Answer{Record: in, Grid: o.v.Roster.Grid, Claim: claim}
				if registered, found := o.v.Roster.Member(p.To); found {
					a.Record = registered
				}
				o.l.Probed(o.v, p, a, nil)
			}
		}
	}
	join("", claim1)
	join(claim2, "")
	join("", claim2)
	if len(results) != 3 || !errors.Is(results[0], ErrIdentityInUse) || !errors.Is(results[1], ErrOtherClaim) ||
		results[2] != nil {
		t.Errorf("results %v", results)
	}
}

// TestAssignmentAfterARestart: partitions are given to members that answer, whatever
// number the grid was formed with.
func TestAssignmentAfterARestart(t *testing.T) {
	o := anchoredLead(t, 3, true, true)
	o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
		Reset: &roster.Reset{Claim: claim2, Found: start, Leader: record(1, true)}})
	o.l = New(Config{Self: record(1, true), Grid: roster.GridID{7}, Expect: 9, Anchored: true}, o)
	o.step(0)
	o.seen(anchor.Record{Claim: claim2, Ceiling: start + 60_000, Holder: inc(1, 1)})
	o.commands, o.l.changes.pending = nil, false
	silent := func(member int) error {
		if member == 3 {
			return fmt.Errorf("member %d is silent", member)
		}
		return nil
	}
	var lost []roster.Loss
	for range 60 {
		o.answer(forDetection, silent)
		o.step(StepEvery)
		for _, c := range o.commands {
			if c.Change != nil && len(c.Change.Lose) > 0 {
				lost = c.Change.Lose
			}
		}
		if len(lost) > 0 {
			break
		}
		o.commands, o.l.changes.pending = nil, false
	}
	if len(lost) != 2 {
		t.Fatalf("losses %+v", lost)
	}
	for _, loss := range lost {
		if loss.Owner == inc(3, 1) {
			t.Errorf("partition %d goes to the silent member", loss.Partition)
		}
	}
}
