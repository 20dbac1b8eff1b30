package grid_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestOneDiskHangs: while no write to the disk of one of three members returns, of the leader or of another, no handle
// waits, and names are created after some seconds. When the writes return, the member takes part again.
func TestOneDiskHangs(t *testing.T) {
	long.NotShort(t, "it takes seconds")
	t.Parallel()
	for what, without := range map[string]time.Duration{"the leader": 12 * time.Second, "a follower": 8 * time.Second} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
				hung := g.Leader()
				if what == "a follower" {
					hung = slices.DeleteFunc(g.Running(), func(m string) bool { return m == hung })[0]
				}
				m := g.Member(hung)
				c := g.Client("client")
				handles := []*sequencer.Sequencer{}
				for i := range 9 { // of several owners
					s, err := c.CreateSequencer(t.Context(), fmt.Sprint("s", i), sequencer.Config{})
					if err != nil {
						t.Fatal(err)
					}
					handles = append(handles, s)
				}
				for _, name := range g.Running() {
					s, err := g.Member(name).CreateSequencer(t.Context(), "s0", sequencer.Config{})
					if err != nil {
						t.Fatal(err)
					}
					handles = append(handles, s)
				}
				const hang = 50 * time.Second
				m.SlowDisk(hang)
				defer func() {
					if t.Failed() {
						time.Sleep(2 * hang) // the bubble ends with its last goroutine
					}
				}()
				began := time.Now()
				for i := 0; time.Since(began) < hang-5*time.Second; i++ {
					ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
					for k, s := range handles {
						if _, err := s.Next(ctx); err != nil {
							t.Fatalf("handle %d after %v: %v", k, time.Since(began), err)
						}
					}
					if _, err := c.CreateSequencer(ctx, fmt.Sprint("n", i), sequencer.Config{}); err != nil &&
						time.Since(began) > without {
						t.Fatalf("a create after %v: %v", time.Since(began), err)
					}
					cancel()
					if m.Stats().Leads && m.Disk().Hang() != nil {
						t.Fatalf("it leads after %v", time.Since(began))
					}
					time.Sleep(500 * time.Millisecond)
				}
				if reason := m.Status().NotReady; m.Ready() || !strings.Contains(reason, "a write in data directory") {
					t.Errorf("ready %v, %s", m.Ready(), reason)
				}
				m.SlowDisk(0)
				time.Sleep(hang + 10*time.Second)
				if s := m.Status(); !s.Settled || len(s.Members) != 3 || !m.Ready() || len(grid.Alerts(s)) > 0 {
					t.Errorf("afterwards %d members, settled %v (%s), ready %v (%s), %v", len(s.Members), s.Settled, s.NotSettled,
						m.Ready(), s.NotReady, grid.Alerts(s))
				}
			})
		})
	}
}

// TestLoneDiskHangs: a leader that no other replaces leads again when the writes to its disk return.
func TestLoneDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true})
		m := g.Member("m1")
		s, err := m.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		const hang = 40 * time.Second
		m.SlowDisk(hang)
		time.Sleep(30 * time.Second)
		if m.Ready() {
			t.Error("ready after 30 s")
		}
		m.SlowDisk(0)
		time.Sleep(hang)
		if _, err := s.Next(t.Context()); err != nil || !m.Ready() {
			t.Errorf("ready %v (%s), %v", m.Ready(), m.Status().NotReady, err)
		}
	})
}

// TestLastMemberWithADiskThatHangs: the disk of the last member of a grid stops to answer as it stores the end of the
// grants. Leave ends with its context, and by itself within a window.
func TestLastMemberWithADiskThatHangs(t *testing.T) {
	t.Parallel()
	for limit, most := range map[time.Duration]time.Duration{2 * time.Second: 6 * time.Second, time.Hour: 15 * time.Second} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true})
				m := g.Member("m1")
				const hang = 40 * time.Second
				m.SlowDisk(hang)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				err := m.Leave(ctx)
				if took := time.Since(began); took > most || !errors.Is(err, sequencer.ErrUnavailable) {
					t.Errorf("Leave took %v: %v", took, err)
				}
				time.Sleep(2 * hang) // the bubble ends with its last goroutine
			})
		})
	}
}
