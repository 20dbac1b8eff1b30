package grid_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// creator is a member or a client.
type creator interface {
	CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sameTables compares the owner's table of a name with each backup's: as soon as
// an operation was answered they are equal, except for the ends of extended
// grants.
func sameTables(t *testing.T, g *gridtest.Grid, after string) {
	t.Helper()
	var owner partition.TableState
	copies := map[string]partition.TableState{}
	for _, name := range g.Running() {
		table, acts := g.Member(name).TableOf("orders")
		for i := range table.Records {
			for j := range table.Records[i].Slots {
				if s := &table.Records[i].Slots[j]; !s.ID.IsZero() {
					s.Free = 0
				}
			}
		}
		switch {
		case acts:
			owner = table
		case len(table.Records) > 0 || table.Base > 0:
			copies[name] = table
		}
	}
	for name, table := range copies {
		if !reflect.DeepEqual(owner, table) {
			t.Errorf("after %s: the owner has\n%+v\nand %s has\n%+v", after, owner, name, table)
		}
	}
	if want := g.Member(g.Running()[0]).Status().Settings.Backups; len(copies) != want {
		t.Errorf("after %s: %d copies, want %d", after, len(copies), want)
	}
}

// TestBackupsHoldTheTable: every answered operation is at every backup, from whichever
// caller: the owner, another member, a client.
func TestBackupsHoldTheTable(t *testing.T) {
	t.Parallel()
	for _, backups := range []int{1, 2} {
		t.Run(fmt.Sprint(backups, " backups"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 4, Durable: true,
					Change: func(_ string, c *grid.Config) { c.Backups = backups }})
				g.Network.SetDelay(5 * time.Millisecond)
				from := []creator{g.Client("c")}
				for _, name := range g.Running() {
					from = append(from, g.Member(name))
				}
				for round := range 3 {
					var handles []*sequencer.Sequencer
					for i, f := range from {
						s, err := f.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 128})
						check(t, err)
						sameTables(t, g, fmt.Sprint("create and attach by ", i))
						handles = append(handles, s)
					}
					for i, s := range handles {
						check(t, s.DetachLogicalNode(t.Context()))
						sameTables(t, g, fmt.Sprint("detach by ", i))
						check(t, s.AttachLogicalNode(t.Context()))
						sameTables(t, g, fmt.Sprint("attach by ", i))
					}
					check(t, handles[round].Destroy(t.Context()))
					// The answer waits for disks too, and the owner may forget the mark
					// meanwhile: that change is answered to no caller and on its way.
					time.Sleep(time.Second) // several ticks of the owner
					sameTables(t, g, "destroy")
				}
			})
		})
	}
}

// TestAttachAtOnce: callers that attach at the same time, over and over, never
// have a logical node in common.
func TestAttachAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		var mu sync.Mutex
		held := map[sequencer.NodeID]int{}
		var all sync.WaitGroup
		for i := range 100 {
			c := g.Client(fmt.Sprint("c", i))
			all.Go(func() {
				s, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 128})
				for round := 0; err == nil && round < 10; round++ {
					node, _ := s.LogicalNode()
					mu.Lock()
					if other, taken := held[node]; taken {
						t.Errorf("client %d was given logical node %d, which client %d has", i, node, other)
					}
					held[node] = i
					mu.Unlock()
					if round == 9 {
						return
					}
					mu.Lock()
					delete(held, node)
					mu.Unlock()
					err = errors.Join(s.DetachLogicalNode(t.Context()), s.AttachLogicalNode(t.Context()))
				}
				if err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if len(held) != 100 {
			t.Errorf("%d logical nodes are held, want 100", len(held))
		}
	})
}

// TestFullMemberSendsHoldersAway: at its limit of requests a member refuses more of holders,
// which retry, and continues to serve those of members.
func TestFullMemberSendsHoldersAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		c := g.Client("c")
		s, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		check(t, err)
		var ends []func()
		for _, name := range g.Running() {
			ends = append(ends, g.Member(name).Fill())
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.DetachLogicalNode(limited); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("detach at full members: %v", err)
		}
		time.Sleep(10 * time.Second) // longer than a member that cannot be reached stays
		if n := len(g.Member("m1").Members()); n != 3 {
			t.Errorf("%d members are left", n)
		}
		for _, end := range ends {
			end()
		}
		check(t, s.AttachLogicalNode(t.Context()))
		_, err = s.Next(t.Context())
		check(t, err)
	})
}

// TestTableOfManyPages: a table that takes several calls arrives whole, though it
// changes meanwhile.
func TestTableOfManyPages(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) {
			c.Partitions, c.FirstLife = 1, true
		}})
		c := g.Client("c")
		create := func(first, end int) {
			for i := first; i < end; i++ {
				_, err := c.CreateSequencer(t.Context(), fmt.Sprint(strings.Repeat("n", 200), i), sequencer.Config{})
				check(t, err)
			}
		}
		create(0, 800)
		g.Network.SetDelay(5 * time.Millisecond)
		g.Crash(g.OwnerOf("orders"))
		create(800, 850)
		for _, name := range g.Running() {
			within(t, time.Minute, name+" has its replicas", g.Member(name).Settled)
		}
		create(850, 860)
		sameTables(t, g, "a crash")
		for _, name := range g.Running() {
			table, _ := g.Member(name).TableOf("orders")
			if pages := len(member.PagesOf(table)); len(table.Records) != 860 || pages < 2 {
				t.Errorf("%s has %d names, of %d pages", name, len(table.Records), pages)
			}
		}
	})
}
