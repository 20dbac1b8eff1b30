package grid_test

import (
	"github.com/snowgrid/snowgrid/internal/long"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestForgedTableAndForgedGoodbye sends a backup an empty table of the current term and
// tells the leader that the owner's disk has failed. The backup must not become owner by
// that: it would hand a newcomer the logical node that an honest holder still uses.
func TestForgedTableAndForgedGoodbye(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for name, lead := range map[string]uint64{"far ahead": 1 << 40, "as far as a backup takes it": 1 << 32,
		"some changes ahead": 20} {
		t.Run(name, func(t *testing.T) { forgedTableAndGoodbye(t, lead) })
	}
}

func forgedTableAndGoodbye(t *testing.T, number uint64) {
	synctest.Test(t, func(t *testing.T) {
		g := durable(t)
		ids := issueFrom(t, g, "web", "orders")
		ids.during(time.Second, "before")
		s := g.Member("m1").Status()
		id := roster.PartitionOf("orders", len(s.Partitions))
		p := s.Partitions[id]
		nameOf := map[string]string{}
		evil := pretenderIn(t, g)
		for _, name := range g.Running() {
			nameOf[string(evil.incarnation(name))] = name
		}
		for _, replica := range p.InSync {
			if replica == p.Owner {
				continue
			}
			err := evil.call(nameOf[replica], wire.PathReplicate, member.ReplicateRequest{
				Partition: id, Version: roster.Version(s.Version), Pages: 1, Table: &member.Table{},
				Position: backup.Position{Term: roster.Term(p.Term), Number: number},
			}, &member.ReplicateResponse{})
			t.Logf("the backup answers the forged table with: %v", err)
		}
		in := wire.LeaveRequest{Incarnation: roster.Incarnation(p.Owner), Server: string(serverOf(g, nameOf[p.Owner])),
			Failed: true}
		if err := evil.call(g.Leader(), wire.PathLeave, in, &wire.MemberResponse{}); err == nil {
			t.Error("the owner has left on the word of another process")
		}
		ids.during(5*time.Second, "after the forged goodbye")
		newcomer := issueFrom(t, g, "another", "orders")
		newcomer.seen = ids.seen // an ID of one is no ID of the other
		for range 20 {
			ids.during(time.Second, "beside a newcomer")
			newcomer.during(time.Second, "as a newcomer")
		}
		first, _ := ids.ids.LogicalNode()
		second, _ := newcomer.ids.LogicalNode()
		if first == second {
			t.Errorf("both have logical node %d", first)
		}
		after := g.Member("m1").Status()
		if q := after.Partitions[id]; q.Owner != p.Owner || q.Term != p.Term || len(after.Members) != 3 {
			t.Errorf("owner %s in term %d before, %s in term %d after, %d members", p.Owner, p.Term, q.Owner, q.Term,
				len(after.Members))
		}
		if _, err := g.Client("web").CreateSequencer(t.Context(), "users", sequencer.Config{}); err != nil {
			t.Error(err)
		}
	})
}
