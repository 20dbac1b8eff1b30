package leader

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestJoinReplacesOnlyTheOneAsked: a request to join counts against the incarnation
// that did not answer when it was made, and against no other of the same member.
func TestJoinReplacesOnlyTheOneAsked(t *testing.T) {
	other := inc(9, 1)
	crashed, copied, newcomer := inc(1, 1), inc(1, 2), inc(1, 3)
	for name, c := range map[string]struct {
		members []roster.Incarnation
		instead roster.Incarnation
		dropped bool
	}{
		"no other registered":      {[]roster.Incarnation{other}, "", false},
		"it is registered":         {[]roster.Incarnation{newcomer}, crashed, false},
		"the one that was asked":   {[]roster.Incarnation{crashed, other}, crashed, false},
		"another one by now":       {[]roster.Incarnation{copied, other}, crashed, true},
		"one where there was none": {[]roster.Incarnation{copied}, "", true},
	} {
		r := &roster.Roster{}
		for _, i := range c.members {
			r.Members = append(r.Members, roster.Member{Incarnation: i})
		}
		j := join{member: roster.Member{Incarnation: newcomer}, instead: c.instead}
		if got := j.replaces(r); got != c.dropped {
			t.Errorf("%s: dropped %v, want %v", name, got, c.dropped)
		}
	}
}

// TestInquiriesAreBounded: so many members are asked at a time, few that gossip does not
// see, and each once.
func TestInquiriesAreBounded(t *testing.T) {
	o := lead(t, 1, true)
	var refused int
	ask := func(member int) {
		o.l.Join(o.v, record(member, true), func(err error) {
			if errors.Is(err, ErrUnavailable) {
				refused++
			}
		})
	}
	for i := range inquiriesUnseen + 1 {
		ask(100 + i)
	}
	if refused != 1 {
		t.Errorf("%d of %d members that gossip does not see are refused", refused, inquiriesUnseen+1)
	}
	ask(100)
	if refused != 2 {
		t.Error("a member is asked twice at a time")
	}
	for i := inquiriesUnseen; i < inquiriesMax; i++ {
		m := record(200+i, true)
		o.v.Peers = append(o.v.Peers, Peer{Incarnation: m.Incarnation, API: m.API})
		ask(200 + i)
	}
	if refused != 2 {
		t.Errorf("%d members are refused with room for them", refused-2)
	}
	o.v.Peers = append(o.v.Peers, Peer{Incarnation: inc(999, 1), API: record(999, true).API})
	ask(999)
	if refused != 3 {
		t.Error("more members are asked than may be")
	}
	o.answer(forInquiry, func(int) error { return context.DeadlineExceeded })
	if len(o.l.admission.inquiries.open) != 0 {
		t.Errorf("%d are being asked after the last outcome", len(o.l.admission.inquiries.open))
	}
}

// TestMembersThatAreBelieved: a join counts as the member itself says it, and a leave
// if it says that it leaves.
func TestMembersThatAreBelieved(t *testing.T) {
	grid, m := roster.GridID{1}, record(2, true)
	other := m
	other.Raft = "b:2"
	for what, c := range map[string]struct {
		answer   Answer
		believed bool
	}{
		"as it says":           {Answer{Grid: grid, Record: m}, true},
		"another address":      {Answer{Grid: grid, Record: other}, false},
		"of another grid":      {Answer{Grid: roster.GridID{2}, Record: m}, false},
		"of no grid":           {Answer{Record: m}, false},
		"says nothing of self": {Answer{Grid: grid}, false},
	} {
		if err := confirmsJoin(m, grid, new(roster.Roster), c.answer); (err == nil) != c.believed {
			t.Errorf("a join, %s: %v", what, err)
		}
	}
	for what, c := range map[string]struct {
		failed   bool
		answer   Answer
		believed bool
	}{
		"it leaves":                          {false, Answer{Leaving: true}, true},
		"it stays":                           {false, Answer{}, false},
		"its disk failed":                    {true, Answer{Leaving: true, DiskFailed: true}, true},
		"it leaves, and its disk is well":    {true, Answer{Leaving: true}, false},
		"its disk failed, and it stays":      {true, Answer{DiskFailed: true}, false},
		"its disk failed, not that it is so": {false, Answer{DiskFailed: true}, false},
	} {
		if err := confirmsLeave(m.Incarnation, c.failed, c.answer); (err == nil) != c.believed {
			t.Errorf("a leave, %s: %v", what, err)
		}
	}
}

// TestUnreachableMembersAreNotBelieved: a join or a leave does not count while its member
// does not answer.
func TestUnreachableMembersAreNotBelieved(t *testing.T) {
	o := lead(t, 3, true)
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	o.l.Join(o.v, record(4, true), note)
	o.l.Leave(o.v, inc(2, 1), true, note)
	o.answer(forInquiry, func(int) error { return context.DeadlineExceeded })
	if len(errs) != 2 || !errors.Is(errs[0], ErrUnavailable) || !errors.Is(errs[1], ErrUnavailable) {
		t.Errorf("answers %v", errs)
	}
	if len(o.l.admission.joins) > 0 || len(o.l.Leavers()) > 0 {
		t.Error("it counts")
	}
}

// TestCloneIsRefused: a newcomer does not take the place of another start of its member
// that answers, and does take it of one that does not.
func TestCloneIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		of      int
		answers bool
		want    error
	}{
		"the other answers": {2, true, ErrIdentityInUse},
		"it does not":       {2, false, nil},
		"it is the leader":  {1, false, ErrIdentityInUse},
	} {
		o := lead(t, 3, true)
		again := record(c.of, true)
		again.Incarnation = inc(c.of, 2)
		var got error
		answered := false
		o.l.Join(o.v, again, func(err error) { got, answered = err, true })
		for _, p := range o.take(forInquiry) {
			o.l.Probed(o.v, p, Answer{Grid: o.v.Roster.Grid, Record: again}, nil)
		}
		o.answer(forInquiry, func(int) error {
			if c.answers {
				return nil
			}
			return ErrAbsent
		})
		if _, joins := o.l.admission.joins[again.Incarnation]; !answered || !errors.Is(got, c.want) ||
			joins != (c.want == nil) {
			t.Errorf("%s: answered %v, %v; joins %v", what, answered, got, joins)
		}
	}
}

// joiners has n members request to join.
func (o *office) joiners(n int) {
	for i := range n {
		m := record(10+i, true)
		o.l.admission.joins[m.Incarnation] = join{member: m, at: o.v.Mono}
	}
}

// TestJoinersAreServersFirst: while there are too few servers, a member is in the roster once it is
// a Raft server, so that it learns that it is.
func TestJoinersAreServersFirst(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	joining := ServersMost - 3
	o.joiners(joining)
	o.step(0)
	for i := range joining {
		if len(o.changes) != i+1 || o.changes[i].Do != AddServer {
			t.Fatalf("reconfigurations %+v", o.changes)
		}
		if len(o.commands) > 1 || len(o.commands[0].Change.Join) > 0 {
			t.Fatalf("commands %+v", o.commands)
		}
		o.v.Servers = append(o.v.Servers, Server{ID: o.changes[i].Server})
		o.l.Reconfigured(o.v, o.changes[i])
	}
	if len(o.changes) != joining {
		t.Errorf("%d servers are added", len(o.changes))
	}
	o.l.Proposed(o.v, o.commands[0], context.DeadlineExceeded)
	o.step(StepEvery)
	if len(o.commands) != 2 || len(o.commands[1].Change.Join) != joining {
		t.Errorf("commands %+v", o.commands)
	}
}

// TestAdditionsOfAStepAreBounded: also if each fails.
func TestAdditionsOfAStepAreBounded(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.joiners(addsPerStep + 1)
	o.step(0)
	for i := 0; i < len(o.changes); i++ {
		o.l.Reconfigured(o.v, o.changes[i])
	}
	if len(o.changes) != addsPerStep {
		t.Errorf("%d additions in one step", len(o.changes))
	}
}

// TestRequestsToJoinAreForgotten: one that is not repeated, and one of a member that
// leaves.
func TestRequestsToJoinAreForgotten(t *testing.T) {
	o := lead(t, 3, true)
	for i := range 2 {
		m := record(10+i, true)
		o.l.admission.joins[m.Incarnation] = join{member: m, at: o.v.Mono}
	}
	o.l.admission.leaves[inc(11, 1)] = true
	if got := o.l.admission.joining(o.v); len(got) != 1 || memberOf(got[0].member.Incarnation) != 10 {
		t.Errorf("joining %+v", got)
	}
	o.v.Mono += joinKept + 1
	if got := o.l.admission.joining(o.v); len(got) != 0 || len(o.l.admission.joins) != 0 {
		t.Errorf("joining %+v after %v", got, joinKept)
	}
}

// TestThoseThatLeftAreForgotten: once a member is out, nothing keeps it from joining.
func TestThoseThatLeftAreForgotten(t *testing.T) {
	o := lead(t, 2, true)
	o.v.Leaving = true
	q := &o.l.admission
	q.leaves[inc(2, 1)], q.failed[inc(2, 1)] = true, true
	q.forgetLeft(func(i roster.Incarnation) bool { return o.v.has(i) })
	if !o.l.admission.isLeaving(o.v, inc(2, 1)) || len(q.failedMembers()) != 1 {
		t.Error("a member that is there still is forgotten")
	}
	o.v.Servers, o.v.Roster = nil, &roster.Roster{}
	q.forgetLeft(func(i roster.Incarnation) bool { return o.v.has(i) })
	if o.l.admission.isLeaving(o.v, inc(2, 1)) || len(q.failedMembers()) != 0 || !o.l.admission.isLeaving(o.v, inc(1, 1)) {
		t.Error("a member that is out is kept, or the own leave is not")
	}
}

// TestOnlyTheOwnerReports: which joining replicas may be admitted, and whose disks may be
// named, is recorded as their owner reports it, at the version it reports it of, and not
// otherwise (R5, D4).
func TestOnlyTheOwnerReports(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	at := o.v.Roster.Version
	for _, c := range []struct {
		owner    roster.Incarnation
		version  roster.Version
		recorded bool
	}{{inc(2, 1), at, false}, {inc(1, 1), at - 1, false}, {inc(1, 1), at, true}} {
		due, err := o.l.Reported(o.v, Report{
			Owner:     c.owner,
			Held:      []roster.Holding{{Replica: roster.Replica{Partition: 1, Member: inc(2, 1)}, Version: c.version}},
			Persisted: []roster.Persisted{{Partition: 1, Version: c.version}},
		})
		held, persisted := o.l.reports.heldAt(at), o.l.reports.persistedAt(at)
		if err != nil || due != c.recorded || (len(held) == 1) != c.recorded || (len(persisted) == 1) != c.recorded {
			t.Errorf("by %s at version %d of %d: %v, %v, %v, %v", c.owner, c.version, at, due, held, persisted, err)
		}
	}
	if held := o.l.reports.heldAt(at + 1); len(held) > 0 {
		t.Errorf("%v is held at the next version", held)
	}
	if _, err := o.l.Reported(o.v, Report{Owner: inc(1, 1),
		Persisted: []roster.Persisted{{Version: at + 1}}}); !errors.Is(err, ErrNotLeading) {
		t.Errorf("a report of a later version: %v", err)
	}
	if _, err := o.l.Reported(o.v, Report{Owner: inc(1, 1),
		Persisted: []roster.Persisted{{Partition: 2, Version: at}}}); !errors.Is(err, ErrBadRequest) {
		t.Errorf("a report of a partition that there is not: %v", err)
	}
}

// TestVersionsAreLeftAlone: while replicas join, moves that are not urgent wait a second
// for them to be admitted at the present version.
func TestVersionsAreLeftAlone(t *testing.T) {
	o := lead(t, 2, true)
	o.assign()
	r := *o.v.Roster
	r.Partitions = append([]roster.Partition(nil), r.Partitions...)
	r.Partitions[0].Joining = inc(2, 1)
	o.v.Roster = &r
	if s := o.l.sight(o.v); !s.Patient {
		t.Error("a version is not left alone")
	}
	o.l.reports.held[roster.Replica{Partition: 0, Member: inc(2, 1)}] = r.Version
	if s := o.l.sight(o.v); s.Patient {
		t.Error("a version is left alone that every replica is admitted at")
	}
	clear(o.l.reports.held)
	o.v.Mono += patience
	if s := o.l.sight(o.v); s.Patient {
		t.Errorf("a version is left alone after %v", time.Duration(patience))
	}
}

// TestLeaderAsksItsEarlierStart: a leader that runs on a copied data directory does not join while
// the registered start answers, and joins when that is silent.
func TestLeaderAsksItsEarlierStart(t *testing.T) {
	o := lead(t, 1, true)
	o.l = New(Config{Self: roster.Member{Incarnation: inc(1, 2), API: "copy:1", Raft: "copy:2", Durable: true},
		Grid: roster.GridID{7}, Expect: 1}, o)
	var running error // the outcome of each probe
	for range 50 {
		o.step(StepEvery)
		o.answer(forInquiry, func(int) error { return running })
	}
	if len(o.commands) > 0 || len(o.inUse) == 0 || !errors.Is(errors.Join(o.inUse...), ErrIdentityInUse) {
		t.Fatalf("while the original answers: %+v, refused: %v", o.commands, o.inUse)
	}
	running = ErrAbsent
	for range 3 {
		o.step(StepEvery)
		o.answer(forInquiry, func(int) error { return running })
	}
	joins := slices.ContainsFunc(o.commands, func(c roster.Command) bool {
		return c.Change != nil && slices.ContainsFunc(c.Change.Join,
			func(m roster.Member) bool { return m.Incarnation == inc(1, 2) })
	})
	if !joins {
		t.Errorf("the original has ended: %+v", o.commands)
	}
}
