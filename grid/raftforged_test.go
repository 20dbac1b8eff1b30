package grid_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// issuing is a handle from which IDs are taken for as long as a test lasts.
type issuing struct {
	t    *testing.T
	ids  *sequencer.Sequencer
	seen map[int64]bool
}

// issueFrom opens a handle of a name on a host that is not a member.
func issueFrom(t *testing.T, g *gridtest.Grid, host, name string) *issuing {
	t.Helper()
	s, err := g.Client(host).CreateSequencer(t.Context(), name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &issuing{t: t, ids: s, seen: map[int64]bool{}}
}

// during takes an ID each 100 ms for d, none of which may take longer than a renewal
// that has to be repeated, nor come twice.
func (i *issuing) during(d time.Duration, what string) {
	i.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		began := time.Now()
		id, err := i.ids.Next(i.t.Context())
		switch took := time.Since(began); {
		case err != nil:
			i.t.Fatalf("%s: %v", what, err)
		case took > 5*time.Second:
			i.t.Fatalf("%s: Next took %v", what, took)
		case i.seen[int64(id)]:
			i.t.Fatalf("%s: ID %d was issued twice", what, id)
		}
		i.seen[int64(id)] = true
	}
}

// rogue is a Raft server that no member knows.
type rogue struct {
	*raft.NetworkTransport
	header raft.RPCHeader
}

// at finds a Raft server at the address that its ID stands for.
type at map[raft.ServerID]raft.ServerAddress

func (a at) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if found, ok := a[id]; ok {
		return found, nil
	}
	return "", fmt.Errorf("no address of %s", id)
}

// rogueIn starts a Raft server that speaks to every member of a grid. It calls itself
// what it likes.
func rogueIn(t *testing.T, g *gridtest.Grid, called raft.ServerID) rogue {
	t.Helper()
	id := grid.RosterOf(g.Member("m1")).Grid
	book := at{}
	for _, m := range g.Member("m1").Status().Members {
		server := raft.ServerID(m.Incarnation)
		if m.Durable {
			server = raft.ServerID(m.ID())
		}
		book[server] = transport.RaftAddress(server, m.Raft)
	}
	trans := transport.NewRaft(evilStream(t, g, id), book, hclog.NewNullLogger())
	t.Cleanup(func() { _ = trans.Close() })
	return rogue{trans, raft.RPCHeader{ProtocolVersion: 3, ID: []byte(called),
		Addr: []byte(transport.RaftAddress(called, "evil:7947"))}}
}

// evilStream is a Raft stream layer on a host outside the grid.
func evilStream(t *testing.T, g *gridtest.Grid, id roster.GridID) raft.StreamLayer {
	t.Helper()
	ln, err := g.Network.Host("evil").Listen("evil:7947")
	if err != nil {
		t.Fatal(err)
	}
	s := transport.NewRaftStream(ln, g.Network.Host("evil"), id, noClaims{}, ownRelease{}, "evil",
		"evil:7947", nil, nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// noClaims has no claim, and takes every stream.
type noClaims struct{}

func (noClaims) Own() [16]byte        { return [16]byte{} }
func (noClaims) Admit([16]byte) error { return nil }

// ownRelease has this release, and takes every stream.
type ownRelease struct{}

func (ownRelease) Own() roster.Release        { return wire.OwnRelease() }
func (ownRelease) Admit(roster.Release) error { return nil }

// serverOf returns the Raft server behind a member.
func serverOf(g *gridtest.Grid, name string) raft.ServerID {
	m := g.Member(name)
	inc := m.Status().Answering
	for _, other := range m.Status().Members {
		if other.Incarnation == inc && other.Durable {
			return raft.ServerID(other.ID())
		}
	}
	return raft.ServerID(inc)
}

func (r rogue) append(to raft.ServerID, req raft.AppendEntriesRequest) error {
	req.RPCHeader = r.header
	return r.AppendEntries(to, "", &req, &raft.AppendEntriesResponse{})
}

// TestForgedRaftTermEndsNothing: a term that no grid reaches, in whichever message and
// from whichever name, ends no election: IDs continue, and the grid restarts from disk.
func TestForgedRaftTermEndsNothing(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, term := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 50, 1<<20 + 1000} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, known %v", term, known), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { forgeTerm(t, term, known) })
			})
		}
	}
}

func forgeTerm(t *testing.T, term uint64, known bool) {
	g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
	ids := issueFrom(t, g, "web", "orders")
	ids.during(time.Second, "before")
	called := raft.ServerID("evil")
	if known {
		called = serverOf(g, "m3")
	}
	evil := rogueIn(t, g, called)
	for _, name := range []string{"m1", "m2"} {
		to := serverOf(g, name)
		_ = evil.append(to, raft.AppendEntriesRequest{Term: term})
		_ = evil.append(to, raft.AppendEntriesRequest{Term: term, PrevLogEntry: 1, PrevLogTerm: 1})
		_ = evil.RequestVote(to, "", &raft.RequestVoteRequest{RPCHeader: evil.header, Term: term, LastLogIndex: 1 << 40,
			LastLogTerm: term, LeadershipTransfer: true}, &raft.RequestVoteResponse{})
		_ = evil.RequestPreVote(to, "", &raft.RequestPreVoteRequest{RPCHeader: evil.header, Term: term, LastLogIndex: 1 << 40,
			LastLogTerm: term}, &raft.RequestPreVoteResponse{})
		_ = evil.InstallSnapshot(to, "", &raft.InstallSnapshotRequest{
			RPCHeader: evil.header, SnapshotVersion: 1, Term: term, LastLogIndex: 1 << 40, LastLogTerm: 1, Size: 1,
			Configuration: raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "evil",
				Address: "evil@evil:7947"}}}),
		}, &raft.InstallSnapshotResponse{}, strings.NewReader("x"))
	}
	ids.during(40*time.Second, "after the forged term")
	for _, name := range []string{"m1", "m2", "m3"} {
		g.Crash(name)
	}
	g.StartMembers("m1", "m2", "m3")
	ids.during(20*time.Second, "after the restart from disk")
}

// TestRaftStrangersDoNotDisturbTheLead: a server that no member knows neither replaces
// a roster by its snapshot, nor deposes the leader, however often it tries.
func TestRaftStrangersDoNotDisturbTheLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := issueFrom(t, g, "web", "orders")
		evil := rogueIn(t, g, "evil")
		leader := g.Leader()
		forged := forgedRoster(t, g)
		for term := uint64(100); term < 140; term++ {
			for _, name := range []string{"m1", "m2", "m3"} {
				to := serverOf(g, name)
				if err := evil.append(to, raft.AppendEntriesRequest{Term: term}); err == nil {
					t.Errorf("%s took entries of a server that it does not know", name)
				}
				_ = evil.TimeoutNow(to, "", &raft.TimeoutNowRequest{RPCHeader: evil.header}, &raft.TimeoutNowResponse{})
				_ = evil.RequestVote(to, "", &raft.RequestVoteRequest{RPCHeader: evil.header, Term: term, LeadershipTransfer: true},
					&raft.RequestVoteResponse{})
				_ = evil.RequestVote(to, "", &raft.RequestVoteRequest{
					RPCHeader: raft.RPCHeader{ProtocolVersion: 3, Addr: evil.header.Addr}, Term: term, LeadershipTransfer: true,
				}, &raft.RequestVoteResponse{})
				err := evil.InstallSnapshot(to, "", &raft.InstallSnapshotRequest{
					RPCHeader: evil.header, SnapshotVersion: 1, Term: term, LastLogIndex: 1 << 40, LastLogTerm: term,
					Size: int64(len(forged)),
					Configuration: raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "evil",
						Address: "evil@evil:7947"}}}),
				}, &raft.InstallSnapshotResponse{}, bytes.NewReader(forged))
				if err == nil {
					t.Errorf("%s took the snapshot of a server that it does not know", name)
				}
			}
			ids.during(250*time.Millisecond, "during the forgeries")
		}
		if now := g.Leader(); now != leader {
			t.Errorf("%s led, %s leads now", leader, now)
		}
		for _, name := range g.Running() {
			if n := len(g.Member(name).Status().Members); n != 3 {
				t.Errorf("%s knows %d members", name, n)
			}
		}
		if _, err := g.Client("another").CreateSequencer(t.Context(), "users", sequencer.Config{}); err != nil {
			t.Error(err)
		}
	})
}

// forgedRoster is a snapshot in which one stranger has everything.
func forgedRoster(t *testing.T, g *gridtest.Grid) []byte {
	t.Helper()
	r := &roster.Roster{}
	own := grid.RosterOf(g.Member("m1"))
	r, err := r.Apply(roster.Command{Form: &roster.Form{Grid: own.Grid, Settings: own.Settings,
		Ceiling: own.Ceiling + 1<<40}})
	if err != nil {
		t.Fatal(err)
	}
	r.Version = 1 << 40
	data, err := wire.EncodeRoster(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestHostileRaftEntriesEndNoProcess: entries that Raft's own code panics over are
// refused before it sees them, also if they come in a leader's name.
func TestHostileRaftEntriesEndNoProcess(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	entries := map[string][]*raft.Log{
		"none":                   {nil},
		"of an unknown type":     {{Index: 1000, Term: 3, Type: 77}},
		"a broken configuration": {{Index: 1000, Term: 3, Type: raft.LogConfiguration, Data: []byte{0xc1}}},
		"an empty configuration": {{Index: 1000, Term: 3, Type: raft.LogConfiguration,
			Data: raft.EncodeConfiguration(raft.Configuration{})}},
		"peers":           {{Index: 1000, Term: 3, Type: raft.LogAddPeerDeprecated, Data: []byte{0xc1}}},
		"with a gap":      {{Index: 1 << 30, Term: 3, Type: raft.LogNoop}},
		"of a later term": {{Index: 1000, Term: 1 << 40, Type: raft.LogNoop}},
	}
	for what, list := range entries {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
				ids := issueFrom(t, g, "web", "orders")
				leader := g.Leader()
				follower := "m1"
				if leader == follower {
					follower = "m2"
				}
				evil := rogueIn(t, g, serverOf(g, leader))
				to := serverOf(g, follower)
				err := evil.append(to, raft.AppendEntriesRequest{Term: 100, PrevLogEntry: 0, Entries: list,
					LeaderCommitIndex: 1 << 31})
				if err == nil {
					t.Error("it was taken")
				}
				ids.during(20*time.Second, "afterwards")
			})
		})
	}
}
