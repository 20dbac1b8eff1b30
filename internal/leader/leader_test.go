package leader

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// office is a member that leads: a machine and a record of its requests.
type office struct {
	t *testing.T
	l *Leader
	v View

	probes   []Probe
	commands []roster.Command
	changes  []Reconfiguration
	leads    []ServerID
	dismiss  []Dismissal
	records  []anchor.Step
	verdicts []clustertime.Verdict
	inUse    []error
}

// Probe implements Member.
func (o *office) Probe(p Probe) { o.probes = append(o.probes, p) }

// Propose implements Member.
func (o *office) Propose(c roster.Command) { o.commands = append(o.commands, c) }

// Reconfigure implements Member.
func (o *office) Reconfigure(c Reconfiguration) { o.changes = append(o.changes, c) }

// TransferLead implements Member.
func (o *office) TransferLead(to ServerID) { o.leads = append(o.leads, to) }

// Dismiss implements Member.
func (o *office) Dismiss(d Dismissal) { o.dismiss = append(o.dismiss, d) }

// Anchor implements Member.
func (o *office) Anchor(s anchor.Step) { o.records = append(o.records, s) }

// InUse implements Member.
func (o *office) InUse(err error) { o.inUse = append(o.inUse, err) }

// ReportClocks implements Member.
func (o *office) ReportClocks(v clustertime.Verdict) { o.verdicts = append(o.verdicts, v) }

// inc returns an incarnation of a member.
func inc(member, start int) roster.Incarnation {
	return roster.Incarnation(fmt.Sprintf("%016x-%016x", member, start))
}

// record returns the first start of a member.
func record(member int, durable bool) roster.Member {
	return roster.Member{Incarnation: inc(member, 1), API: fmt.Sprintf("m%d:1", member),
		Raft: fmt.Sprintf("m%d:2", member), Durable: durable}
}

const window = 10_000

// lead returns member 1 as the leader of members 1 to n, which gossip sees. The first
// three vote.
func lead(t *testing.T, n int, durable bool) *office {
	r, err := new(roster.Roster).Apply(roster.Command{Form: &roster.Form{
		Grid: roster.GridID{7}, Ceiling: 1_800_000_000_000,
		Settings: roster.Settings{Name: "test", Partitions: 2, Backups: 1, Window: window},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, v: View{Roster: r, Mono: time.Hour, Wall: 1_800_000_000_000}}
	var join roster.Change
	for i := range n {
		m := record(i+1, durable)
		join.Join = append(join.Join, m)
		o.v.Servers = append(o.v.Servers, Server{ID: ServerOf(m.Incarnation, durable),
			Voter: i < VotersFor(n, roster.DefaultVoters)})
		o.v.Peers = append(o.v.Peers, Peer{Incarnation: m.Incarnation, API: m.API, Durable: durable})
	}
	o.apply(roster.Command{From: r.Version, Change: &join})
	o.l = New(Config{Self: record(1, durable), Grid: roster.GridID{7}, Expect: n}, o)
	return o
}

func (o *office) apply(c roster.Command) {
	o.t.Helper()
	next, err := o.v.Roster.Apply(c)
	if err != nil {
		o.t.Fatal(err)
	}
	o.v.Roster = next
}

// run sets the release of the leader's process.
func (o *office) run(r roster.Release) {
	o.l.cfg.Release, o.l.admission.release, o.l.protocols.own = r, r, r
}

// serveAs sets the leader's server.
func (o *office) serveAs(id ServerID) {
	o.l.server, o.l.voters.server, o.l.succession.server, o.l.ceiling.server = id, id, id, id
}

// step lets time pass.
func (o *office) step(d time.Duration) {
	o.v.Mono += d
	o.l.Step(o.v)
}

// take returns the probes for a purpose that were asked for since the last call.
func (o *office) take(why purpose) (out []Probe) {
	out = slices.DeleteFunc(slices.Clone(o.probes), func(p Probe) bool { return p.purpose != why })
	o.probes = slices.DeleteFunc(o.probes, func(p Probe) bool { return p.purpose == why })
	return out
}

// answer answers all probes for a purpose: err returns the outcome for a member.
func (o *office) answer(why purpose, err func(member int) error) {
	for _, p := range o.take(why) {
		a := Answer{Grid: o.v.Roster.Grid, Version: o.v.Roster.Version, Wall: o.v.Wall}
		a.Record, _ = o.v.Roster.Member(p.To)
		o.l.Probed(o.v, p, a, err(memberOf(p.To)))
	}
}

// memberOf returns a member's number.
func memberOf(i roster.Incarnation) (n int) {
	_, _ = fmt.Sscanf(string(i), "%x", &n)
	return n
}

// all is the outcome of probes that every member answers.
func all(int) error { return nil }

// assign gives every partition an owner.
func (o *office) assign() {
	var c roster.Change
	for id := range o.v.Roster.Partitions {
		c.Lose = append(c.Lose, roster.Loss{Partition: roster.PartitionID(id), Owner: inc(1, 1)})
	}
	o.apply(roster.Command{From: o.v.Roster.Version, Change: &c})
}

// TestOneChangeAtATime: the next change is planned after the outcome of the last.
func TestOneChangeAtATime(t *testing.T) {
	o := lead(t, 3, true)
	o.step(0)
	if len(o.commands) != 1 || o.commands[0].Change == nil {
		t.Fatalf("%d commands", len(o.commands))
	}
	o.step(StepEvery)
	if len(o.commands) != 1 {
		t.Errorf("%d commands before the outcome of the first", len(o.commands))
	}
	o.apply(o.commands[0])
	o.l.Proposed(o.v, o.commands[0], nil)
	if !o.v.Roster.Assigned() {
		t.Error("partitions without owner")
	}
}

// TestAssignmentAwaitsMembersAndVoters: partitions get their first owners when as many
// members and voters have joined as the grid begins with.
func TestAssignmentAwaitsMembersAndVoters(t *testing.T) {
	for _, c := range []struct {
		expect, voters int
		assigns        bool
	}{{3, 3, true}, {4, 3, false}, {3, 1, false}, {2, 1, true}, {0, 1, true}} {
		o := lead(t, 3, true)
		o.l.cfg.Expect = c.expect
		for i := range o.v.Servers {
			o.v.Servers[i].Voter = i < c.voters
		}
		o.step(0)
		if assigns := len(o.commands) > 0; assigns != c.assigns {
			t.Errorf("%d of 3 members are expected and %d vote: assigns %v", c.expect, c.voters, assigns)
		}
	}
}

// TestResignAnswersEverything: no request waits for a leader that has gone.
func TestResignAnswersEverything(t *testing.T) {
	o := lead(t, 3, true)
	answers := 0
	note := func(error) { answers++ }
	o.l.Join(o.v, record(4, true), note)
	o.l.Leave(o.v, inc(2, 1), false, note)
	o.l.ForgetDisk(o.v, ForgetRequest{Disk: inc(3, 1).Member()}, func(_ Forgotten, err error) { note(err) })
	o.l.RemoveMember(o.v, inc(3, 1).Member(), "", func(_ Removed, err error) { note(err) })
	o.v.Peers = nil
	o.l.ForgetDisk(o.v, ForgetRequest{Disk: inc(3, 1).Member()}, func(_ Forgotten, err error) { note(err) })
	o.l.Resign()
	if answers != 5 {
		t.Errorf("%d of 5 requests are answered", answers)
	}
}

// TestServersOfStarts: a member without a disk is another Raft server at each start,
// since it forgot its votes; one with a disk is the same (B2, S1).
func TestServersOfStarts(t *testing.T) {
	for _, durable := range []bool{false, true} {
		before, after := ServerOf(inc(1, 1), durable), ServerOf(inc(1, 2), durable)
		if (before == after) != durable || after.IsDurable() != durable {
			t.Errorf("durable %v: server %s, and %s after a restart", durable, before, after)
		}
	}
}
