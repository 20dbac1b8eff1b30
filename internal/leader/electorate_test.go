package leader

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// someMembers is a membership: the servers that are expected, and the servers whose members leave.
type someMembers struct{ expected, leaving map[ServerID]bool }

func (m someMembers) expects(_ View, id ServerID) bool { return m.expected[id] }
func (m someMembers) left(_ View, id ServerID) bool    { return m.leaving[id] }
func (m someMembers) staying(View) map[ServerID]bool   { return nil }
func (m someMembers) isLeaving(_ View, inc roster.Incarnation) bool {
	return m.leaving[ServerOf(inc, true)]
}

// TestClassify covers each standing of a server, with and without a vote that is kept.
func TestClassify(t *testing.T) {
	id := func(member int) ServerID { return ServerOf(inc(member, 1), true) }
	volatile := ServerOf(inc(9, 1), false)
	v := View{Roster: &roster.Roster{Members: []roster.Member{record(1, true), record(2, true), record(3, true)}}}
	set := func(ids ...ServerID) map[ServerID]bool {
		out := map[ServerID]bool{}
		for _, id := range ids {
			out[id] = true
		}
		return out
	}
	for name, c := range map[string]struct {
		server ServerID
		voter  bool
		state  servers
		want   classified
	}{
		"stays":                {id(2), true, servers{stays: set(id(2))}, classified{standing: staying}},
		"stays without a vote": {id(2), false, servers{stays: set(id(2))}, classified{standing: staying}},
		"this leader leaves":   {id(1), true, servers{}, classified{standing: passing, overdue: true}},
		"this leader keeps its vote": {id(1), true, servers{surrenders: set(id(1))},
			classified{standing: passing, retained: true}},
		"this leader has no vote":   {id(1), false, servers{}, classified{standing: passing}},
		"leaves":                    {id(3), true, servers{}, classified{standing: leaving, overdue: true}},
		"leaves and keeps its vote": {id(3), true, servers{}, classified{standing: leaving, retained: true}},
		"leaves without a vote":     {id(3), false, servers{}, classified{standing: leaving}},
		"asks to join": {id(4), true, servers{members: someMembers{expected: set(id(4))}},
			classified{standing: arriving}},
		"no member":                 {id(5), true, servers{}, classified{standing: absent, retained: true}},
		"no member, without a vote": {id(5), false, servers{}, classified{standing: gone}},
		"no member, without a disk": {volatile, true, servers{}, classified{standing: gone}},
		"given up":                  {id(5), true, servers{surrenders: set(id(5))}, classified{standing: gone}},
		"has left": {id(6), true, servers{members: someMembers{leaving: set(id(6))}},
			classified{standing: gone, overdue: true}},
		"has left and keeps its vote": {id(6), true, servers{members: someMembers{leaving: set(id(6))}},
			classified{standing: absent, retained: true}},
		"has left and is given up": {id(6), true, servers{members: someMembers{leaving: set(id(6))},
			surrenders: set(id(6))}, classified{standing: gone}},
	} {
		keeps := c.want.retained && c.want.standing != absent || name == "has left and keeps its vote" ||
			name == "has left and is given up"
		c.state.self, c.state.keepsVote = id(1), func(ServerID) bool { return keeps }
		if c.state.members == nil {
			c.state.members = someMembers{}
		}
		c.want.Server = Server{ID: c.server, Voter: c.voter}
		if got := c.state.classify(v, c.want.Server); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestCount covers the lists of the electorate for each standing.
func TestCount(t *testing.T) {
	voter := func(id ServerID) Server { return Server{ID: id, Voter: true} }
	var e electorate
	overdue := e.count("self", []classified{
		{Server: voter("self")}, {Server: voter("stays")}, {Server: Server{ID: "idle"}},
		{Server: voter("arriving"), standing: arriving},
		{Server: voter("leaving"), standing: leaving, retained: true}, {Server: Server{ID: "learner"}, standing: leaving},
		{Server: voter("absent"), standing: absent, retained: true},
		{Server: voter("gone"), standing: gone, overdue: true},
	})
	ids := func(all []Server) (out []ServerID) {
		for _, s := range all {
			out = append(out, s.ID)
		}
		return out
	}
	equal := func(name string, got []Server, want ...ServerID) {
		t.Helper()
		if g := ids(got); len(g) != len(want) || len(g) == 1 && g[0] != want[0] {
			t.Errorf("%s: %v, want %v", name, g, want)
		}
	}
	equal("voters", e.voters, "self", "stays", "arriving", "leaving", "absent", "gone")
	equal("idle", e.idle, "idle")
	equal("surplus", e.surplus, "stays")
	equal("leavers", e.leavers, "leaving")
	equal("down", e.down, "absent")
	equal("gone", e.gone, "gone")
	if e.voting != 2 || e.absent != 2 || e.passing || !overdue {
		t.Errorf("%d vote, %d votes are retained, passing %v, overdue %v", e.voting, e.absent, e.passing, overdue)
	}
	if overdue := new(electorate).count("self", []classified{{Server: voter("self"), standing: passing}}); overdue {
		t.Error("a retained vote is overdue")
	}
}

// fakeProber records probes and transfers of the lead.
type fakeProber struct {
	Member

	probes    []Probe
	transfers []ServerID
}

func (f *fakeProber) Probe(p Probe)            { f.probes = append(f.probes, p) }
func (f *fakeProber) TransferLead(to ServerID) { f.transfers = append(f.transfers, to) }

// TestSuccessionTransfersToTheFirstAnswer covers one attempt, and a failed one.
func TestSuccessionTransfersToTheFirstAnswer(t *testing.T) {
	out := new(fakeProber)
	self := record(1, true)
	s := succession{self: self.Incarnation, server: ServerOf(self.Incarnation, true), members: someMembers{}, out: out}
	v := View{Roster: &roster.Roster{}, Mono: time.Hour, Leaving: true}
	for member := 1; member <= 3; member++ {
		v.Servers = append(v.Servers, Server{ID: ServerOf(inc(member, 1), true), Voter: true})
		v.Peers = append(v.Peers, Peer{Incarnation: inc(member, 1), Durable: true})
	}
	s.step(v, v.Mono)
	if len(out.probes) != 0 {
		t.Fatal("a new leader passes its lead on at its first step")
	}
	s.step(v, v.Mono-StepEvery)
	if len(out.probes) != 2 {
		t.Fatalf("%d probes, want 2", len(out.probes))
	}
	s.answered(out.probes[0], Answer{}, ErrAbsent)
	s.answered(out.probes[1], Answer{}, nil)
	if len(out.transfers) != 1 || out.transfers[0] != ServerOf(out.probes[1].To, true) {
		t.Errorf("transfers %v", out.transfers)
	}
	s.ended()
	if !s.yielded || s.attempt != nil {
		t.Error("a failed transfer is still in progress")
	}
}
