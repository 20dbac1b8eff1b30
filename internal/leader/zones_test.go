package leader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// grid sets the number of voters, and the zones of the first members.
func (o *office) grid(voters int, zones ...string) {
	r := *o.v.Roster
	r.Settings.Voters = voters
	r.Members = slices.Clone(r.Members)
	for i, zone := range zones {
		r.Members[i].Zone = zone
	}
	o.v.Roster = &r
}

// TestVotersFor: the largest odd number within the members and the setting.
func TestVotersFor(t *testing.T) {
	for most, want := range map[int][]int{1: {1, 1, 1, 1, 1, 1}, 3: {1, 1, 1, 3, 3, 3, 3}, 5: {1, 1, 1, 3, 3, 5, 5, 5},
		7: {1, 1, 1, 3, 3, 5, 5, 7, 7}} {
		for n, votes := range want {
			if got := VotersFor(n, most); got != votes {
				t.Errorf("%d members and %d voters at most: %d, want %d", n, most, got, votes)
			}
		}
	}
}

// TestNumberOfVoters: votes are given and taken one at a time until there are as many as
// the settings say, also when those have changed, and two of five may die at the same time.
func TestNumberOfVoters(t *testing.T) {
	promote, demote, remove := int(Promote), int(Demote), int(Remove)
	for what, c := range map[string]struct {
		members, voters int
		votes           []int
		change          func(o *office)
		silent          []int
		want            [][2]int
	}{
		"five of seven": {7, 5, []int{1, 2, 3}, nil, nil, [][2]int{{promote, 4}, {promote, 5}}},
		"seven of seven": {7, 7, []int{1}, nil, nil,
			[][2]int{{promote, 2}, {promote, 3}, {promote, 4}, {promote, 5}, {promote, 6}, {promote, 7}}},
		"five of six":                        {6, 7, []int{1, 2, 3}, nil, nil, [][2]int{{promote, 4}, {promote, 5}}},
		"one":                                {3, 1, []int{1, 2, 3}, nil, nil, [][2]int{{demote, 2}, {demote, 3}}},
		"three of five":                      {5, 0, []int{1, 2, 3, 4, 5}, nil, nil, [][2]int{{demote, 2}, {demote, 3}}},
		"not while the rest are no majority": {5, 0, []int{1, 2, 3, 4, 5}, nil, []int{2, 3, 4}, nil},
		"two of five are dead, others vote first": {7, 5, []int{1, 2, 3, 4, 5},
			func(o *office) { o.without(4, 5); o.unseen(4, 5) }, nil,
			[][2]int{{promote, 6}, {promote, 7}, {remove, 4}, {remove, 5}}},
		"two of five are dead and keep their votes on disk": {5, 5, []int{1, 2, 3, 4, 5},
			func(o *office) { o.without(4, 5); o.unseen(4, 5) }, nil, nil},
		"a third one is silent": {5, 5, []int{1, 2, 3, 4, 5},
			func(o *office) { o.without(4, 5); o.unseen(4, 5) }, []int{3}, nil},
	} {
		o := lead(t, c.members, true)
		o.assign()
		o.grid(c.voters)
		o.vote(c.votes...)
		if c.change != nil {
			c.change(o)
		}
		if got := o.settle(c.silent...); !slices.Equal(got, c.want) {
			t.Errorf("%s: done %v, want %v; %v vote", what, got, c.want, o.votes())
		}
	}
}

// TestTwoDeadWithoutDisks: of five voters without disks two die; they are removed one
// after the other, each with a majority of the rest.
func TestTwoDeadWithoutDisks(t *testing.T) {
	o := lead(t, 5, false)
	o.assign()
	o.grid(5)
	o.vote(1, 2, 3, 4, 5)
	o.without(4, 5)
	o.unseen(4, 5)
	if got, want := o.settle(), [][2]int{{int(Remove), 4}, {int(Remove), 5}}; !slices.Equal(got, want) {
		t.Errorf("done %v, want %v", got, want)
	}
	if len(o.votes()) != 3 {
		t.Errorf("%v vote", o.votes())
	}
}

// TestAssignmentAwaitsFiveVoters: with five voters partitions wait for all five.
func TestAssignmentAwaitsFiveVoters(t *testing.T) {
	for voters, assigns := range map[int]bool{3: false, 4: false, 5: true} {
		o := lead(t, 5, true)
		o.grid(5)
		o.vote([]int{1, 2, 3, 4, 5}[:voters]...)
		o.step(0)
		if got := len(o.commands) > 0; got != assigns {
			t.Errorf("%d of 5 voters: assigns %v", voters, got)
		}
	}
}

// TestVotersAreSpreadOverZones: a vote moves to a zone that has two fewer, by way of one
// more voter, and not to a member that does not answer.
func TestVotersAreSpreadOverZones(t *testing.T) {
	promote, demote := int(Promote), int(Demote)
	for what, c := range map[string]struct {
		voters int
		zones  []string
		votes  []int
		silent []int
		want   [][2]int
	}{
		"three in one zone": {3, []string{"a", "a", "a", "b", "c"}, []int{1, 2, 3}, nil,
			[][2]int{{promote, 4}, {demote, 2}, {promote, 5}, {demote, 3}}},
		"five in three zones":        {5, []string{"a", "a", "b", "b", "c", "c"}, []int{1, 2, 3, 4, 5}, nil, nil},
		"the emptiest zone is first": {3, []string{"a", "b", "b", "c"}, []int{1}, nil, [][2]int{{promote, 2}, {promote, 4}}},
		"the fullest zone loses one": {3, []string{"a", "b", "b", "c"}, []int{1, 2, 3, 4}, nil, [][2]int{{demote, 2}}},
		"nothing is gained":          {3, []string{"a", "a", "a", "b"}, []int{1, 2, 4}, nil, nil},
		"one zone":                   {3, []string{"a", "a", "a", "a"}, []int{1, 2, 3}, nil, nil},
		"no answer from there":       {3, []string{"a", "a", "a", "b", "c"}, []int{1, 2, 3}, []int{4, 5}, nil},
		"the other answers": {3, []string{"a", "a", "a", "b", "c"}, []int{1, 2, 3}, []int{4},
			[][2]int{{promote, 5}, {demote, 2}}},
		"a dead voter's comes first": {3, []string{"a", "a", "a", "b"}, []int{1, 2, 3}, []int{3},
			[][2]int{{promote, 4}, {demote, 3}}},
	} {
		o := lead(t, len(c.zones), true)
		o.assign()
		o.grid(c.voters, c.zones...)
		o.vote(c.votes...)
		if got := o.settle(c.silent...); !slices.Equal(got, c.want) {
			t.Errorf("%s: done %v, want %v; %v vote", what, got, c.want, o.votes())
		}
	}
}

// TestVotersComeToRest: with any members that have servers, disks, zones and voters, the
// votes come to rest within a few steps, as many as they should be, with disks and spread
// as far as that is possible.
func TestVotersComeToRest(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n, most := 1+rng.IntN(ServersMost), 1+2*rng.IntN(4)
		o := lead(t, n, true)
		r := *o.v.Roster
		r.Members = slices.Clone(r.Members)
		mixed, zones := rng.IntN(3) == 0, 1+rng.IntN(4)
		for i := range r.Members {
			r.Members[i].Durable = !mixed || rng.IntN(2) == 0
			r.Members[i].Zone = fmt.Sprint(rng.IntN(zones))
			o.v.Servers[i] = Server{ID: ServerOf(r.Members[i].Incarnation, r.Members[i].Durable), Voter: i == 0 ||
				rng.IntN(2) == 0}
			o.v.Peers[i].Durable = r.Members[i].Durable
		}
		r.Settings.Voters = roster.StoredVoters(most)
		o.v.Roster = &r
		o.serveAs(o.v.Servers[0].ID)
		o.assign()
		done := append(o.settle(), o.settle()...)
		if rest := o.settle(); len(rest) > 0 {
			t.Fatalf("seed %d: no end of steps: %v and %v", seed, done, rest)
		}
		checkVotersAtRest(t, seed, o, most)
	}
}

// checkVotersAtRest compares votes with the best that there can be: no member could vote in
// place of another one but the leader and make it better.
func checkVotersAtRest(t *testing.T, seed uint64, o *office, most int) {
	t.Helper()
	votes, zones, inZone := 0, map[string]bool{}, map[string]int{}
	voter := map[int]bool{}
	for i, m := range o.v.Roster.Members {
		zones[m.Zone] = true
		if o.v.Servers[i].Voter {
			votes++
			voter[i] = true
			inZone[m.Zone]++
		}
	}
	if want := VotersFor(len(o.v.Roster.Members), most); votes != want {
		t.Fatalf("seed %d: %d vote, want %d", seed, votes, want)
	}
	if len(zones) < 2 {
		return
	}
	volatileVotes := false
	for i, m := range o.v.Roster.Members[1:] {
		volatileVotes = volatileVotes || voter[i+1] && !m.Durable
	}
	for i, m := range o.v.Roster.Members {
		for j, other := range o.v.Roster.Members {
			if voter[i] || !voter[j] || j == 0 {
				continue
			}
			if m.Durable && !other.Durable {
				t.Fatalf("seed %d: %+v votes and %+v does not", seed, other, m)
			}
			// While a vote has to be without a disk, those with one stay.
			if m.Durable == other.Durable && other.Durable != volatileVotes && inZone[other.Zone]-inZone[m.Zone] >= 2 {
				t.Fatalf("seed %d: %+v votes and %+v does not: %v", seed, other, m, inZone)
			}
		}
	}
}

// TestFirstMemberHasItsZone: a leader enters the roster with its zone.
func TestFirstMemberHasItsZone(t *testing.T) {
	o := lead(t, 1, true)
	o.l.cfg.Self.Zone, o.l.admission.self.Zone = "a", "a"
	o.without(1)
	o.step(0)
	if c := o.commands[0].Change; len(c.Join) != 1 || c.Join[0].Zone != "a" {
		t.Errorf("%+v", c)
	}
}

// TestVoterLeavesAlthoughTwoAreAbsent: two of five voters are dead with their disks, and a
// third one leaves. After it has waited, the votes of the dead are given up, so that the
// other two continue without it.
func TestVoterLeavesAlthoughTwoAreAbsent(t *testing.T) {
	for leaver, out := range map[int]bool{1: false, 2: true, 3: false} {
		o := lead(t, 5, true)
		o.assign()
		o.grid(5)
		o.vote(1, 2, 3, 4, 5)
		o.without(4, 5)
		o.unseen(4, 5)
		if leaver == 1 {
			o.v.Leaving = true
		} else {
			o.l.admission.leaves[inc(leaver, 1)] = true
		}
		if out { // of the roster already
			o.without(leaver, 4, 5)
			o.v.Peers[leaver-1].Leaving = true
		}
		if got := o.settle(); len(got) != 0 {
			t.Errorf("member %d leaves: done %v before it has waited", leaver, got)
		}
		o.v.Mono += voteAwaited
		if got, want := o.settle(), [][2]int{{int(Remove), 4}, {int(Remove), 5}}; !slices.Equal(got, want) {
			t.Errorf("member %d leaves: done %v, want %v; %v vote", leaver, got, want, o.votes())
		}
	}
}

// TestAbsentVoteIsKeptWhileTheRestIsAMajority: of seven voters one is dead with its disk
// and two leave; the four that stay are a majority, so the dead one may come back.
func TestAbsentVoteIsKeptWhileTheRestIsAMajority(t *testing.T) {
	o := lead(t, 7, true)
	o.assign()
	o.grid(7)
	o.vote(1, 2, 3, 4, 5, 6, 7)
	o.without(7)
	o.unseen(7)
	o.l.admission.leaves[inc(5, 1)], o.l.admission.leaves[inc(6, 1)] = true, true
	o.step(0)
	o.v.Mono += voteKept
	if got := o.settle(); len(got) != 0 {
		t.Errorf("done %v; %v vote", got, o.votes())
	}
}
