//go:build nextrelease

package grid_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestProtocolOfAGrid: the first need raises it, restarts keep it, and a minute without a
// need lowers it again; then no disk has an entry that the release of protocol 1 cannot read.
func TestProtocolOfAGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		time.Sleep(10 * time.Second)
		expect := func(when string, protocol, common roster.Protocol) {
			t.Helper()
			for _, name := range g.Running() {
				s := g.Member(name).Status()
				if s.Protocol != int(protocol) || s.CommonProtocol != int(common) {
					t.Errorf("%s: %s shows protocol %d, and %d that all have", when, name, s.Protocol, s.CommonProtocol)
				}
				for _, m := range s.Members {
					if m.Release == nil || m.Release.Max != int(roster.CurrentProtocol) || m.Release.Build == "" {
						t.Errorf("%s: %s shows %s as %v", when, name, m.Incarnation, m.Release)
					}
				}
			}
		}
		unread := func() (n int) {
			for _, name := range g.Running() {
				n += laterEntries(t, g.Member(name), byte(roster.Protocol1))
			}
			return n
		}
		expect("before anything new is in use", roster.Protocol1, roster.CurrentProtocol)
		if n := unread(); n > 0 {
			t.Errorf("%d entries of protocol 2 before anything new is in use", n)
		}
		if err := g.Member(g.Leader()).Need(roster.Protocol2, "a new part"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		expect("after the first need", roster.Protocol2, roster.CurrentProtocol)
		if unread() == 0 {
			t.Error("protocol 2 is in use, and no log has an entry of it")
		}
		g.Crash("m2")
		g.StartMembers("m2")
		time.Sleep(5 * time.Second)
		expect("after a restart", roster.Protocol2, roster.CurrentProtocol)
		time.Sleep(75 * time.Second)
		expect("after a minute without a need", roster.Protocol1, roster.CurrentProtocol)
		if n := unread(); n > 0 {
			t.Errorf("%d entries of protocol 2 are left", n)
		}
		g.Crash("m3")
		g.StartMembers("m3")
		time.Sleep(5 * time.Second)
		expect("after another restart", roster.Protocol1, roster.CurrentProtocol)
	})
}

// laterEntries counts the commands in a member's log that need a later protocol.
func laterEntries(t *testing.T, m *grid.Member, than byte) (n int) {
	t.Helper()
	first, err := m.Disk().FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	last, err := m.Disk().LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	for index := max(first, 1); index <= last; index++ {
		var entry raft.Log
		if err := m.Disk().GetLog(index, &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Type == raft.LogCommand && entry.Data[0] > than {
			n++
		}
	}
	return n
}
