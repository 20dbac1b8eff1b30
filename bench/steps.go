package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/sequencer"
	"slices"
	"sync/atomic"
	"time"
)

// stepped is a wall clock that can be wrong.
type stepped struct{ by atomic.Int64 }

func (s *stepped) Now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

// stepTurns is a step's length in windows: long enough for the grid to agree on ceilings by the
// changed clock, which it does every 1.5 s.
const stepTurns = 8

// measureSteps measures the cost of IDs while the only member's wall clock is right, an hour slow
// and an hour fast.
func measureSteps(ctx context.Context, b *bench) (err error) {
	clock := &stepped{}
	c, end, err := dialOwn(ctx, grid.Config{Clock: clock}, handles.NewClock())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	s, err := c.CreateSequencer(ctx, "steps", sequencer.Config{Nodes: 128})
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		by   time.Duration
	}{{"right", 0}, {"an hour back", -time.Hour}, {"an hour forward", time.Hour}}
	samples := make([][]float64, len(steps))
	var last sequencer.ID
	disorder, total := 0, 0
	var failed error
	g := generator{perMilli: 65536, next: func() {
		id, err := s.Next(ctx)
		if err != nil {
			failed = err
		}
		if id <= last {
			disorder++
		}
		last = id
		total++
	}}
	for range b.size.rounds {
		for i, step := range steps {
			clock.by.Store(int64(step.by))
			for began := time.Now(); time.Since(began) < stepTurns*b.size.window; {
				samples[i] = append(samples[i], batch(g))
			}
		}
	}
	if failed != nil {
		return failed
	}
	var rows [][]string
	var middles []float64
	for i, step := range steps {
		slices.Sort(samples[i])
		middles = append(middles, samples[i][len(samples[i])/2])
		rows = append(rows, []string{step.name, fmt.Sprintf("%.1f", middles[i]), fmt.Sprintf("%.3f", middles[i]/middles[0])})
	}
	b.report.p(`One goroutine takes IDs in batches of a thousand, while the wall clock of the grid's only member is stepped
every %v. Of %s IDs, %d were not above the previous one.

`, stepTurns*b.size.window, thousands(float64(total)), disorder)
	b.report.table([]string{"wall clock", "ns per ID", "ratio to a right clock"}, rows)
	b.report.headline("one ID after wall clock steps of one hour, back and forward",
		fmt.Sprintf("%.1f ns, %.1f ns", middles[1], middles[2]), fmt.Sprintf("without steps: %.1f ns", middles[0]), "")
	return nil
}
