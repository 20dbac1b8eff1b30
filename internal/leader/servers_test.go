package leader

import (
	"maps"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// serve leaves Raft servers to some members alone.
func (o *office) serve(members ...int) {
	o.v.Servers = slices.DeleteFunc(slices.Clone(o.v.Servers),
		func(s Server) bool { return !slices.Contains(members, memberOf(roster.Incarnation(s.ID))) })
}

// heed has every member answer the probes of the detector.
func (o *office) heed() {
	for _, p := range o.take(forDetection) {
		o.l.Probed(o.v, p, Answer{Grid: o.v.Roster.Grid, Version: o.v.Roster.Version, Wall: o.v.Wall}, nil)
	}
}

// serverChanges has reconfigurations made until none follows, and returns the operations and their
// members.
func (o *office) serverChanges() (done [][2]int) {
	for range 20 {
		o.step(StepEvery)
		o.heed()
		o.answer(forVoters, func(int) error { return nil })
		changes := o.changes
		o.changes = nil
		for _, c := range changes {
			done = append(done, [2]int{int(c.Do), memberOf(roster.Incarnation(c.Server))})
			switch at := slices.IndexFunc(o.v.Servers, func(s Server) bool { return s.ID == c.Server }); c.Do {
			case AddServer:
				o.v.Servers = append(slices.Clone(o.v.Servers), Server{ID: c.Server})
				if n := len(o.v.Servers); n > ServersMost+1 {
					o.t.Errorf("%d servers", n)
				}
			case Remove:
				o.v.Servers = slices.Delete(slices.Clone(o.v.Servers), at, at+1)
			default:
				o.v.Servers = slices.Clone(o.v.Servers)
				o.v.Servers[at].Voter = c.Do == Promote
			}
			o.l.Reconfigured(o.v, c)
		}
	}
	return done
}

// TestServers: seven members that stay have servers, others are learners. Members 1 to 3 vote,
// and 1 leads; all have disks.
func TestServers(t *testing.T) {
	add, remove := int(AddServer), int(Remove)
	for what, c := range map[string]struct {
		members int
		serve   []int
		change  func(o *office)
		want    [][2]int
	}{
		"seven of nine": {9, []int{1, 2, 3, 4, 5, 6, 7}, func(*office) {}, nil},
		"too few":       {9, []int{1, 2, 3, 4}, func(*office) {}, [][2]int{{add, 5}, {add, 6}, {add, 7}}},
		"too many": {9, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, func(*office) {},
			[][2]int{{remove, 9}, {remove, 8}}},
		"one with a server leaves": {9, []int{1, 2, 3, 4, 5, 6, 7},
			func(o *office) { o.l.admission.leaves[inc(7, 1)] = true }, [][2]int{{add, 8}}},
		"a learner leaves": {9, []int{1, 2, 3, 4, 5, 6, 7},
			func(o *office) { o.l.admission.leaves[inc(9, 1)] = true }, nil},
		"seven votes are asked for": {9, []int{1, 2, 3, 4, 5, 6, 7}, func(o *office) { o.votesAsked(7) },
			[][2]int{{int(Promote), 4}, {int(Promote), 5}, {int(Promote), 6}, {int(Promote), 7}}},
		"fewer servers than the most": {5, []int{1, 2, 3, 4, 5}, func(*office) {}, nil},
	} {
		o := lead(t, c.members, true)
		o.assign()
		o.serve(c.serve...)
		c.change(o)
		if got := o.serverChanges(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

// votesAsked has as many members vote as there can be.
func (o *office) votesAsked(n int) {
	r := *o.v.Roster
	r.Settings.Voters = n
	o.v.Roster = &r
}

// TestSilentLearnerGetsNoServer: its place stays free until one answers.
func TestSilentLearnerGetsNoServer(t *testing.T) {
	o := lead(t, 9, true)
	o.assign()
	o.serve(1, 2, 3, 4, 5, 6)
	for range 20 {
		o.step(StepEvery)
		o.answer(forVoters, func(int) error { return nil })
	}
	if len(o.changes) != 0 {
		t.Errorf("reconfigurations %+v", o.changes)
	}
}

// TestLearnersJoinWithoutAServer: a joining member gets a server only while there are too few.
func TestLearnersJoinWithoutAServer(t *testing.T) {
	for what, c := range map[string]struct {
		serve  []int
		server bool // first
	}{
		"full":     {[]int{1, 2, 3, 4, 5, 6, 7}, false},
		"not full": {[]int{1, 2, 3, 4, 5, 6}, true},
	} {
		o := lead(t, len(c.serve), true)
		o.assign()
		o.step(0)
		o.heed()
		o.step(StepEvery)
		o.commands = nil
		m := record(20, true)
		o.l.admission.joins[m.Incarnation] = join{member: m, at: o.v.Mono}
		o.l.changes.pending = false
		o.step(StepEvery)
		added := slices.ContainsFunc(o.changes, func(c Reconfiguration) bool {
			return c.Do == AddServer &&
				c.Server == ServerOf(m.Incarnation, true)
		})
		admitted := slices.ContainsFunc(o.commands, func(c roster.Command) bool {
			return c.Change != nil &&
				slices.Contains(c.Change.Join, m)
		})
		if added != c.server || admitted == c.server {
			t.Errorf("%s: a server is added: %v, admitted: %v", what, added, admitted)
		}
		if !c.server {
			o.v.Roster = withMember(o.v.Roster, m)
			if got := o.l.admission.joining(o.v); len(got) != 0 {
				t.Errorf("%s: a member still joins", what)
			}
		}
	}
}

func withMember(r *roster.Roster, m roster.Member) *roster.Roster {
	next := *r
	next.Members = append(slices.Clone(r.Members), m)
	return &next
}

// TestStandbysAreSpread: those that stand by have disks, and are of different zones, where there
// are such members. Then nothing changes any longer.
func TestStandbysAreSpread(t *testing.T) {
	for what, c := range map[string]struct {
		zones    string // of members 1, 2 and so on
		volatile []int
		want     map[string]int // servers by zone
	}{
		"two zones":                     {"aaaaaaabbb", nil, map[string]int{"a": 4, "b": 3}},
		"three zones":                   {"aaaaaaabbcc", nil, map[string]int{"a": 3, "b": 2, "c": 2}},
		"one member in each other zone": {"aaaaaaabc", nil, map[string]int{"a": 5, "b": 1, "c": 1}},
		"one zone":                      {"aaaaaaaaaa", nil, map[string]int{"a": 7}},
		"disks in one zone":             {"aaaaaaabbb", []int{8, 9, 10}, map[string]int{"a": 7}},
		"disks in the other zone":       {"aaaaaaabbb", []int{1, 2, 3, 4, 5, 6, 7}, map[string]int{"a": 4, "b": 3}},
	} {
		o := lead(t, len(c.zones), true)
		o.assign()
		o.zoned(c.zones, c.volatile...)
		o.serve(1, 2, 3, 4, 5, 6, 7)
		for range 5 {
			o.serverChanges()
		}
		got := map[string]int{}
		for _, s := range o.v.Servers {
			m, _ := o.v.memberOf(s.ID)
			got[m.Zone]++
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
		if more := o.serverChanges(); len(more) > 0 {
			t.Errorf("%s: changes without end: %v", what, more)
		}
	}
}

// zoned puts members into zones of one letter each, and takes the disks of some.
func (o *office) zoned(zones string, volatile ...int) {
	r := *o.v.Roster
	r.Members = slices.Clone(r.Members)
	for i, m := range r.Members {
		n := memberOf(m.Incarnation)
		m.Zone, m.Durable = zones[n-1:n], !slices.Contains(volatile, n)
		r.Members[i] = m
		for k, s := range o.v.Servers {
			if memberOf(roster.Incarnation(s.ID)) == n {
				o.v.Servers[k].ID = ServerOf(m.Incarnation, m.Durable)
			}
		}
		for k, p := range o.v.Peers {
			if p.Incarnation == m.Incarnation {
				o.v.Peers[k].Durable = m.Durable
			}
		}
		if n == 1 {
			o.l = New(Config{Self: m, Grid: roster.GridID{7}, Expect: len(zones)}, o)
		}
	}
	o.v.Roster = &r
}
