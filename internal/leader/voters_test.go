package leader

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// votes returns the members whose servers vote.
func (o *office) votes() (out []int) {
	for _, s := range o.v.Servers {
		if s.Voter {
			out = append(out, memberOf(roster.Incarnation(s.ID)))
		}
	}
	return out
}

// vote gives votes to some members, and takes those of others.
func (o *office) vote(members ...int) {
	for i, s := range o.v.Servers {
		o.v.Servers[i].Voter = slices.Contains(members, memberOf(roster.Incarnation(s.ID)))
	}
}

// settle has voters decided on until nothing is due, while some members are silent, and
// returns the operations and their members.
func (o *office) settle(silent ...int) (done [][2]int) {
	for range 10 {
		o.step(StepEvery)
		o.answer(forVoters, func(member int) error {
			if slices.Contains(silent, member) {
				return context.DeadlineExceeded
			}
			return nil
		})
		changes := o.changes
		o.changes = nil
		for _, c := range changes {
			done = append(done, [2]int{int(c.Do), memberOf(roster.Incarnation(c.Server))})
			i := slices.IndexFunc(o.v.Servers, func(s Server) bool { return s.ID == c.Server })
			if c.Do == Remove {
				o.v.Servers = slices.Delete(o.v.Servers, i, i+1)
			} else {
				o.v.Servers[i].Voter = c.Do == Promote
			}
			o.l.Reconfigured(o.v, c)
		}
	}
	return done
}

// without takes members out of the roster.
func (o *office) without(members ...int) {
	r := *o.v.Roster
	r.Members = slices.DeleteFunc(slices.Clone(r.Members),
		func(m roster.Member) bool { return slices.Contains(members, memberOf(m.Incarnation)) })
	o.v.Roster = &r
}

// unseen has gossip not see members.
func (o *office) unseen(members ...int) {
	o.v.Peers = slices.DeleteFunc(slices.Clone(o.v.Peers),
		func(p Peer) bool { return slices.Contains(members, memberOf(p.Incarnation)) })
}

// TestVoters: which votes are given and taken, and in which order. Members 1 to 3 vote,
// and 1 leads.
func TestVoters(t *testing.T) {
	promote, demote, remove := int(Promote), int(Demote), int(Remove)
	for what, c := range map[string]struct {
		members  int
		volatile bool
		change   func(o *office)
		silent   []int
		want     [][2]int
	}{
		"three of three vote": {3, false, func(*office) {}, nil, nil},
		"a new one before an old one goes": {4, true, func(o *office) { o.without(3); o.unseen(3) }, nil,
			[][2]int{{promote, 4}, {remove, 3}}},
		"a vote is not given to a dead member": {5, true, func(o *office) { o.without(3); o.unseen(3) }, []int{4},
			[][2]int{{promote, 5}, {remove, 3}}},
		"nor to the only other one": {4, true, func(o *office) { o.without(3); o.unseen(3) }, []int{4},
			[][2]int{{remove, 3}}},
		"a dead voter with a disk stays until another takes its place": {3, false,
			func(o *office) { o.without(3); o.unseen(3) }, nil, nil},
		"one without a disk that died goes, although one with a disk is down": {4, false, func(o *office) {
			o.vote(1, 2, 3, 4)
			o.without(3, 4)
			o.unseen(3, 4)
			o.v.Servers[3].ID = ServerOf(inc(4, 1), false)
		}, nil, [][2]int{{remove, 4}}},
		"and goes then": {4, false, func(o *office) { o.without(3); o.unseen(3) }, nil, [][2]int{{promote, 4}, {remove, 3}}},
		"a server that gossip sees is about to be a member's": {4, true, func(o *office) { o.without(4) }, nil, nil},
		"unless it does not answer": {4, true, func(o *office) { o.without(4) }, []int{4},
			[][2]int{{remove, 4}}},
		"so is a voter": {4, true, func(o *office) { o.without(3) }, nil, [][2]int{{promote, 4}}},
		"unless it does not answer, too": {4, true, func(o *office) { o.without(3) }, []int{3},
			[][2]int{{promote, 4}, {remove, 3}}},
		"beside a voter that leaves": {4, true, func(o *office) {
			o.without(3, 4)
			o.unseen(4)
			o.v.Servers = o.v.Servers[:3]
			o.l.admission.leaves[inc(2, 1)] = true
		}, []int{3}, [][2]int{{remove, 3}, {demote, 2}}},
		"a voter too many that is silent goes first": {4, false, func(o *office) { o.vote(1, 2, 3, 4) }, []int{4},
			[][2]int{{demote, 4}}},
		"one that answers goes if the rest have a majority": {4, false, func(o *office) { o.vote(1, 2, 3, 4) }, nil,
			[][2]int{{demote, 2}}},
		"a leaver without a disk loses its vote": {4, true, func(o *office) { o.l.admission.leaves[inc(3, 1)] = true }, nil,
			[][2]int{{promote, 4}, {demote, 3}}},
		"not while the rest do not answer": {3, true,
			func(o *office) { o.vote(1, 2); o.without(3); o.unseen(3); o.l.admission.leaves[inc(2, 1)] = true }, nil,
			[][2]int{{remove, 3}, {demote, 2}}},
		"a silent one loses its vote before the only one that answers": {3, true,
			func(o *office) { o.l.admission.leaves[inc(2, 1)] = true }, []int{3},
			[][2]int{{demote, 3}, {demote, 2}}},
		"of the only one that answers no vote is taken": {5, true, func(o *office) {
			o.vote(1, 2, 3, 4)
			o.l.admission.leaves[inc(2, 1)] = true
		}, []int{3, 4}, nil},
		"of a silent one no vote is taken, if the rest are silent, too": {5, true, func(o *office) { o.vote(1, 2, 3, 4) },
			[]int{2, 3, 4}, nil},
		"a voter that left and answers stays while the rest do not": {3, true,
			func(o *office) { o.without(3); o.v.Peers[2].Leaving = true }, []int{2}, nil},
		"every member leaves": {3, true, func(o *office) {
			o.v.Leaving, o.l.admission.leaves[inc(2, 1)], o.l.admission.leaves[inc(3, 1)] = true, true, true
		}, nil, nil},
		"a start of before is not in the roster": {4, true, func(o *office) { o.without(1, 3); o.unseen(3) }, nil, nil},
	} {
		o := lead(t, c.members, !c.volatile)
		o.assign()
		c.change(o)
		if got := o.settle(c.silent...); !slices.Equal(got, c.want) {
			t.Errorf("%s: done %v, want %v; %v vote", what, got, c.want, o.votes())
		}
	}
}

// TestSilentServerThatAnswersAgain: a server without a member that is silent, and answers the next survey, is about to
// be a member's again.
func TestSilentServerThatAnswersAgain(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.without(2, 3)
	id := o.v.Servers[1].ID
	for _, silent := range []bool{true, false, true} {
		o.step(StepEvery)
		o.answer(forVoters, func(int) error {
			if silent {
				return context.DeadlineExceeded
			}
			return nil
		})
		if got := o.l.admission.expects(o.v, id); got == silent {
			t.Errorf("silent %v: expected %v", silent, got)
		}
	}
	if len(o.changes) > 0 {
		t.Errorf("changes %v", o.changes)
	}
}

// TestVotesOfTheRestAreNotTaken: a leader that leaves takes no vote of one that stays and
// answers, since it may end at any time and would take the majority with it.
func TestVotesOfTheRestAreNotTaken(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.v.Leaving = true
	o.l.voters.departures[o.v.Servers[0].ID] = o.v.Mono - voteKept // its own vote is not kept
	if got := o.settle(); len(got) != 0 {
		t.Errorf("done %v", got)
	}
	if got := o.settle(3); !slices.Equal(got, [][2]int{{int(Demote), 3}}) {
		t.Errorf("done %v while member 3 is silent", got)
	}
}

// TestSurveyIsOfThePresentVoters: a change is not decided on by answers of other
// processes than those that it depends on by then.
func TestSurveyIsOfThePresentVoters(t *testing.T) {
	o := lead(t, 4, true)
	o.assign()
	o.vote(1, 2, 3, 4)
	o.step(0)
	for i, m := range o.v.Roster.Members { // member 3 has started again meanwhile
		if memberOf(m.Incarnation) == 3 {
			o.v.Roster.Members[i].Incarnation = inc(3, 2)
		}
	}
	o.answer(forVoters, all)
	if len(o.changes) > 0 {
		t.Errorf("decided without the answer of a voter: %+v", o.changes)
	}
	if got := o.settle(); len(got) != 1 || got[0][0] != int(Demote) {
		t.Errorf("done %v by the next survey", got)
	}
}

// TestSurveyIsOfNow: answers of before a stall of the leader's process decide nothing.
func TestSurveyIsOfNow(t *testing.T) {
	o := lead(t, 4, true)
	o.assign()
	o.vote(1, 2, 3, 4)
	o.step(0)
	o.v.Mono += time.Minute
	o.answer(forVoters, all)
	if len(o.changes) > 0 {
		t.Errorf("decided by answers of a minute ago: %+v", o.changes)
	}
}

// TestLeadIsPassedToOneThatAnswers: a leader that leaves passes its lead to a voter that
// stays and answers, and tries again when that fails.
func TestLeadIsPassedToOneThatAnswers(t *testing.T) {
	o := lead(t, 4, true)
	o.assign()
	o.v.Leaving = true
	answers := func(who ...int) func(int) error {
		return func(member int) error {
			if slices.Contains(who, member) {
				return nil
			}
			return context.DeadlineExceeded
		}
	}
	o.step(0)
	if asked := len(o.probes); asked == 0 {
		t.Fatal("no voter is asked")
	}
	o.answer(forSuccession, answers(4)) // which has no vote
	if len(o.leads) != 0 {
		t.Errorf("the lead is passed to %v, which did not answer", o.leads)
	}
	o.step(StepEvery)
	o.answer(forSuccession, answers(2, 3))
	o.step(StepEvery)
	if want := []ServerID{ServerOf(inc(2, 1), true)}; !slices.Equal(o.leads, want) {
		t.Errorf("the lead is passed to %v, want %v", o.leads, want)
	}
	o.l.LeadTransferred() // and failed, since it still leads
	o.v.Peers[1].Leaving = true
	o.step(StepEvery)
	o.answer(forSuccession, all)
	if len(o.leads) != 2 || o.leads[1] != ServerOf(inc(3, 1), true) {
		t.Errorf("the lead is passed to %v", o.leads)
	}
}

// TestLeadIsNotPassedByACopy: a process from a copy of a voter's directory answers for the voter, which
// Raft sends to, only if gossip does not see the voter.
func TestLeadIsNotPassedByACopy(t *testing.T) {
	for _, seen := range []bool{true, false} {
		o := lead(t, 3, true)
		o.assign()
		o.v.Leaving = true
		o.unseen(3)
		twin := Peer{Incarnation: inc(2, 0), API: "twin:1", Durable: true}
		o.v.Peers = append([]Peer{twin}, o.v.Peers...)
		if !seen {
			o.unseen(2)
			o.v.Peers = append(o.v.Peers, twin)
		}
		o.step(0)
		o.step(StepEvery)
		asked := o.take(forSuccession)
		if want := map[bool]roster.Incarnation{true: inc(2, 1), false: twin.Incarnation}[seen]; len(asked) != 1 ||
			asked[0].To != want {
			t.Errorf("the voter is seen: %v; asked %+v, want %s", seen, asked, want)
		}
	}
}

// TestForgetDisk: a disk is given up once its member is gone for good, and the last one
// of a partition once that is confirmed (D10).
func TestForgetDisk(t *testing.T) {
	const lost = roster.MemberID("00000000000000ff")
	for what, c := range map[string]struct {
		in     ForgetRequest
		change func(o *office)
		want   error
	}{
		"named nowhere":           {ForgetRequest{Disk: "00000000000000fe"}, func(*office) {}, ErrNotNeeded},
		"the leader's":            {ForgetRequest{Disk: inc(1, 1).Member()}, func(*office) {}, ErrNotNow},
		"seen by gossip":          {ForgetRequest{Disk: inc(2, 1).Member()}, func(*office) {}, ErrNotNow},
		"it answers":              {ForgetRequest{Disk: inc(2, 1).Member()}, func(o *office) { o.unseen(2) }, ErrNotNow},
		"in the roster, silent":   {ForgetRequest{Disk: inc(3, 1).Member()}, func(o *office) { o.unseen(3) }, ErrUnavailable},
		"the last":                {ForgetRequest{Disk: lost}, func(*office) {}, ErrNotConfirmed},
		"the last, and confirmed": {ForgetRequest{Disk: lost, LoseDefinitions: true}, func(*office) {}, nil},
	} {
		o := lead(t, 3, true)
		r := *o.v.Roster
		r.Partitions = slices.Clone(r.Partitions)
		r.Partitions[1].Disk = []roster.MemberID{lost}
		o.v.Roster = &r
		c.change(o)
		var out Forgotten
		var got error
		answered := false
		o.l.ForgetDisk(o.v, c.in, func(f Forgotten, err error) { out, got, answered = f, err, true })
		o.answer(forForget, func(member int) error {
			if member == 3 {
				return context.DeadlineExceeded
			}
			return nil
		})
		for _, c := range o.commands {
			o.l.Proposed(o.v, c, nil)
		}
		if !answered || !errors.Is(got, c.want) || (len(o.commands) == 1) != (c.want == nil) ||
			c.want == nil && out != (Forgotten{1, 1}) {
			t.Errorf("%s: answered %v, %+v, %v; %d commands", what, answered, out, got, len(o.commands))
		}
	}
}

// TestForgetDiskIsProposedAgain: when another change comes first, and not without end.
func TestForgetDiskIsProposedAgain(t *testing.T) {
	o := lead(t, 3, true)
	o.step(0) // a change is proposed
	r := *o.v.Roster
	r.Partitions = slices.Clone(r.Partitions)
	r.Partitions[1].Disk = []roster.MemberID{"00000000000000ff"}
	o.v.Roster = &r
	var got error
	o.l.ForgetDisk(o.v, ForgetRequest{Disk: "00000000000000ff", LoseDefinitions: true},
		func(_ Forgotten, err error) { got = err })
	if len(o.commands) != 1 {
		t.Fatal("two changes at a time")
	}
	o.l.Proposed(o.v, o.commands[0], nil)
	for i := 1; i < len(o.commands); i++ {
		o.l.Proposed(o.v, o.commands[i], roster.ErrStale)
	}
	if n := len(o.commands); n != 1+1+forgetTries || !errors.Is(got, ErrUnavailable) {
		t.Errorf("%d commands, %v", n, got)
	}
}
