package grid_test

import (
	"reflect"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestMovedMemberIsNotConfiguredAnew: Raft races with itself when a server's address
// is changed (see leader.serves), so one that comes back elsewhere is found without.
func TestMovedMemberIsNotConfiguredAnew(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	g := &diskGrid{t: t, ctx: testContext(t)}
	cfgs := make([]grid.Config, 3)
	g.members = startGrid(t, 3, func(i int, c *grid.Config) {
		c.Name = t.Name()
		cfgs[i] = *c
	})
	stays, moves := g.members[0], g.members[2]
	g.await(stays, "three voters", func() bool { return len(servers(t, stays)) == 3 })
	before, raftAddr := servers(t, stays), moves.Addrs().Raft
	if err := moves.Close(); err != nil {
		t.Fatal(err)
	}
	taken, err := (transport.Sockets{}).Listen(raftAddr) // so that it gets another port
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	m, err := grid.Start(g.ctx, cfgs[2])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	g.await(stays, "ready again", func() bool { return m.Ready() && len(stays.Members()) == 3 })
	if after := servers(t, stays); !reflect.DeepEqual(after, before) {
		t.Errorf("the servers were\n%v and are\n%v", before, after)
	}
}

// servers returns the voters as a member knows them.
func servers(t *testing.T, m *grid.Member) (out []raft.Server) {
	future := m.Raft().GetConfiguration()
	if err := future.Error(); err != nil {
		t.Fatal(err)
	}
	for _, s := range future.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			out = append(out, s)
		}
	}
	return out
}
