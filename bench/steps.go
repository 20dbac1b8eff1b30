package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

// stepped is a wall clock that can be wrong.
type stepped struct{ by atomic.Int64 }

func (s *stepped) Now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

// measureSteps looks at a member's rate while its wall clock is right, an hour slow and an
// hour fast. It is the grid's only member, so nobody else's clock hides that.
func measureSteps(ctx context.Context, b *bench) (err error) {
	clock := &stepped{}
	member, err := grid.Start(ctx, grid.Config{Clock: clock})
	if err != nil {
		return err
	}
	defer func() { _ = member.Close() }()
	s, err := member.CreateSequencer(ctx, "steps", sequencer.Config{Nodes: 1024})
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		by   time.Duration
	}{{"right", 0}, {"an hour back", -time.Hour}, {"an hour forth", time.Hour}}
	samples := make([][]float64, len(steps))
	var last sequencer.ID
	disorder, total := 0, 0
	for range b.size.rounds {
		for i, step := range steps {
			clock.by.Store(int64(step.by))
			made := 0
			for began := time.Now(); time.Since(began) < 2*b.size.window; {
				for range 64 {
					id, err := s.Next(ctx)
					if err != nil {
						return err
					}
					if id <= last {
						disorder++
					}
					last = id
				}
				made += 64
			}
			total += made
			samples[i] = append(samples[i], float64(made)/float64(2*b.size.window/time.Millisecond)/8192)
		}
	}
	var rows [][]string
	var middles []float64
	for i, step := range steps {
		slices.Sort(samples[i])
		middles = append(middles, samples[i][len(samples[i])/2])
		rows = append(rows, []string{step.name, fmt.Sprintf("%.3f", middles[i]), fmt.Sprintf("%.3f", middles[i]/middles[0])})
	}
	b.report.p(`One goroutine takes as many IDs as there are, 8,192 a millisecond, while the wall clock of the grid's only
member is stepped. %s IDs, of which %d were not above the one before.

`, thousands(float64(total)), disorder)
	b.report.table([]string{"the wall clock", "share of the ID space", "of that with a right clock"}, rows)
	b.report.headline("share of the ID space after the wall clock's steps of an hour, back and forth",
		fmt.Sprintf("%.3f, %.3f", middles[1], middles[2]), fmt.Sprintf("with a right clock: %.3f", middles[0]), "")
	return nil
}
