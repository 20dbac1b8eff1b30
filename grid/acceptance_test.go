package grid_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

const foreignMember = "0123456789abcdef" // a bootstrap member that does not exist

// beginMember starts a member of a grid of three in which no other runs.
func beginMember(t *testing.T, network *gridtest.Network, change func(*grid.Config)) *grid.Member {
	t.Helper()
	cfg := grid.Config{
		GossipAddr: "m1:7946", RaftAddr: "m1:7947", APIAddr: "m1:7948",
		Join: []string{"m1:7946", "m2:7946", "m3:7946"}, Expect: 3,
		Network: network.Host("m1"), Clock: bubbleClock{}, Security: &security.Config{Insecure: true},
	}
	if change != nil {
		change(&cfg)
	}
	m, err := grid.Begin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type bubbleClock struct{}

func (bubbleClock) Now() time.Time { return gridtest.Now() }

// TestAcceptanceLapses: a member that accepted a bootstrap member which does not exist accepts
// another one when it has not seen that one for a minute, and not before.
func TestAcceptanceLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := beginMember(t, gridtest.NewNetwork(), nil)
		defer func() { _ = m.Close(); time.Sleep(time.Minute) }()
		if err := m.Accept(foreignMember, 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for m.Accept("fedcba9876543210", 0) != nil {
			time.Sleep(time.Second)
			if time.Since(began) > 2*time.Minute {
				t.Fatal("the acceptance does not lapse")
			}
		}
		if took := time.Since(began); took < 59*time.Second {
			t.Errorf("the acceptance lapsed after %v", took)
		}
	})
}

// TestAcceptanceIsKept: an acceptance is on disk before it is answered, so that a member
// does not accept two bootstrap members over a restart; and it lapses after the restart.
func TestAcceptanceIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, network := t.TempDir(), gridtest.NewNetwork()
		durable := func(c *grid.Config) { c.DataDir = dir }
		m := beginMember(t, network, durable)
		if err := m.Accept(foreignMember, 0); err != nil {
			t.Fatal(err)
		}
		network.Crash("m1")
		_ = m.Close()
		m = beginMember(t, network, durable)
		defer func() { _ = m.Close(); time.Sleep(time.Minute) }()
		if err := m.Accept("fedcba9876543210", 0); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("after a restart it accepts another bootstrap member: %v", err)
		}
		time.Sleep(time.Minute + time.Second)
		if err := m.Accept("fedcba9876543210", 0); err != nil {
			t.Errorf("the acceptance of a bootstrap member that was never seen does not lapse: %v", err)
		}
	})
}

// TestAcceptWithOtherSettings: a bootstrap member with other settings is refused, and the member
// continues.
func TestAcceptWithOtherSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := beginMember(t, gridtest.NewNetwork(), func(c *grid.Config) { c.Window = 5 * time.Second })
		defer func() { _ = m.Close(); time.Sleep(time.Minute) }()
		if err := m.Accept(foreignMember, 7*time.Second); !errors.Is(err, wire.ErrSettingsConflict) {
			t.Errorf("error %v, want ErrSettingsConflict", err)
		}
		if err := m.Fatality(); err != nil {
			t.Errorf("the refusal ends the member: %v", err)
		}
		if err := m.Accept(foreignMember, 0); err != nil {
			t.Errorf("a bootstrap member with its own settings: %v", err)
		}
	})
}

// TestUnconfirmedAttempt: no first entry is written while acceptances are missing, and
// the attempt is given up: the member is then in no grid, also after a restart.
func TestUnconfirmedAttempt(t *testing.T) {
	for what, durable := range map[string]bool{"memory only": false, "durable": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, network := t.TempDir(), gridtest.NewNetwork()
				m := beginMember(t, network, func(c *grid.Config) {
					if durable {
						c.DataDir = dir
					}
				})
				defer func() { _ = m.Close(); time.Sleep(time.Minute) }()
				if err := m.FormUnconfirmed(2); err != nil {
					t.Fatal(err)
				}
				for range 8 {
					time.Sleep(time.Second)
					if s := m.Status(); s.Version > 0 {
						t.Fatalf("the grid was formed: %+v", s.Grid)
					}
				}
				time.Sleep(10 * time.Second)
				if m.InGrid() {
					t.Fatal("the attempt is not given up")
				}
				if err := m.FormUnconfirmed(0); err != nil { // another attempt
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if s := m.Status(); s.Version == 0 {
					t.Error("a later attempt does not begin")
				}
			})
		})
	}
}

// TestMixedFirstStart: one member that keeps nothing makes a first start one that may
// follow an earlier life, and so one that waits, whichever member forms the grid.
func TestMixedFirstStart(t *testing.T) {
	t.Parallel()
	for range 6 {
		synctest.Test(t, func(t *testing.T) {
			began := gridtest.Now()
			g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(name string, c *grid.Config) {
				if name == "m2" {
					c.DataDir = ""
				}
			}})
			if c := g.Member("m1").Status().Ceiling; c.Before(began.Add(20 * time.Second)) {
				t.Errorf("the grid begins at %v, %v after the start", c, c.Sub(began))
			}
		})
	}
}

// TestNothingOfATenureActsAfterIt: a member has left a grid only when everything that
// acted for it there has ended, so that the recorded limits bound all grants.
func TestNothingOfATenureActsAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1})
		var ended atomic.Bool
		err := g.Member("m1").LeaveGrid(func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(2 * time.Second) // an answer in progress
			ended.Store(true)
		})
		if err != nil || !ended.Load() {
			t.Errorf("error %v; the grid was left with work in progress: %v", err, !ended.Load())
		}
	})
}
