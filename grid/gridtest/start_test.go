package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestFirstTimestamp(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	const window = 15 * time.Second
	for what, c := range map[string]struct {
		durable  bool
		change   func(c *grid.Config)
		min, max time.Duration // how long the first ID takes
	}{
		"memory only": {min: window + 5*time.Second, max: window + 8*time.Second},
		"memory only, 3 s": {change: func(c *grid.Config) { c.Window = 3 * time.Second }, min: 8 * time.Second,
			max: 11 * time.Second},
		"first life": {change: func(c *grid.Config) { c.FirstLife = true }, max: 3 * time.Second},
		"floor, an hour ago": {change: func(c *grid.Config) { c.Floor = gridtest.Now().Add(-time.Hour) },
			min: window + 5*time.Second, max: window + 8*time.Second},
		"floor, in half a minute": {change: func(c *grid.Config) { c.Floor = floorAhead }, min: 29 * time.Second,
			max: 33 * time.Second},
		"durable, with a floor": {durable: true, change: func(c *grid.Config) { c.Floor = floorAhead },
			min: 29 * time.Second, max: 33 * time.Second},
		"durable":               {durable: true, max: 3 * time.Second},
		"durable, with backups": {durable: true, change: func(c *grid.Config) { c.Backups = 2 }, max: 3 * time.Second},
		"durable, first life":   {durable: true, change: func(c *grid.Config) { c.FirstLife = true }, max: 3 * time.Second},
		"memory only, no backup": {change: func(c *grid.Config) { c.Backups = grid.NoBackups }, min: window + 5*time.Second,
			max: window + 8*time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := gridtest.Now()
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: c.durable, Change: func(_ string, cfg *grid.Config) {
					if c.change != nil {
						c.change(cfg)
					}
				}})
				s := create(t, g.Client("c1"), "orders", 0)
				first := newChecker(t).caller("c1").must(s, 1)
				at := s.Definition().Decompose(first).Time
				took := gridtest.Now().Sub(began)
				t.Logf("first ID after %v, its timestamp is %v after the start", took, at.Sub(began))
				if took < c.min || took > c.max || at.Sub(began) < c.min {
					t.Errorf("first ID after %v, want %v to %v", took, c.min, c.max)
				}
				if c.min == 29*time.Second && at.Before(floorAhead.Add(time.Millisecond)) {
					t.Errorf("first timestamp %v, want above the floor %v", at, floorAhead)
				}
			})
		})
	}
}

// floorAhead is half a minute after each bubble begins.
var floorAhead = time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC).Add(9700 * 24 * time.Hour)

func TestLoneMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := newChecker(t)
		caller := ids.caller("lone")
		for range 3 { // lives of a lone member
			m, err := grid.Start(t.Context(), grid.Config{Clock: bubbleClock{}})
			ok(t, "start", err)
			began := time.Now()
			s := create(t, m, "orders", 0)
			caller.must(s, 1000)
			if took := time.Since(began); took > time.Second {
				t.Errorf("a lone member's first IDs took %v", took)
			}
			time.Sleep(10 * time.Second)
			caller.must(s, 1000)
			if st := m.Status(); len(st.Members) != 1 || !st.Ready || st.Settings.Window != 3000 {
				t.Errorf("status of a lone member: %+v", st.Settings)
			}
			ok(t, "leave", m.Leave(t.Context()))
			_, err = s.Next(t.Context())
			want(t, "Next after leave", err, sequencer.ErrClosed)
			time.Sleep(time.Second)
		}
	})
}

// bubbleClock shows the bubble's time, shifted.
type bubbleClock struct{}

func (bubbleClock) Now() time.Time { return gridtest.Now() }
