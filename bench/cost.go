package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// cost is a call's cost far from the limit.
type cost struct {
	ns     float64 // per ID, median over batches
	low    float64 // tenth percentile
	allocs float64 // per ID
}

// batchShare is the maximum share of a millisecond's IDs in a batch, so that calls do not wait for
// the limit.
const batchShare = 0.25

func measureCosts(ctx context.Context, b *bench) error {
	spent, err := costs(ctx, b.all, b.size.batches)
	if err != nil {
		return err
	}
	b.writeCosts(spent)
	return nil
}

// costs measures all generators in turn, batch by batch.
func costs(ctx context.Context, all []generator, batches int) ([]cost, error) {
	samples := make([][]float64, len(all))
	for range batches {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i, g := range all {
			samples[i] = append(samples[i], batch(g))
		}
	}
	out := make([]cost, len(all))
	for i, g := range all {
		slices.Sort(samples[i])
		out[i] = cost{
			ns: samples[i][len(samples[i])/2], low: samples[i][len(samples[i])/10],
			allocs: testing.AllocsPerRun(100, g.next) / float64(g.ids()),
		}
	}
	return out, nil
}

// batch returns the ns per ID over up to a thousand consecutive calls. A warm-up with a tenth as
// many fills the processor's caches first.
func batch(g generator) float64 {
	calls := 1000
	if g.perMilli > 0 {
		calls = min(calls, max(1, int(g.perMilli*batchShare)/g.ids()))
	}
	time.Sleep(200 * time.Microsecond) // until used IDs are available again
	for range calls / 10 {
		g.next()
	}
	began := time.Now()
	for range calls {
		g.next()
	}
	return float64(time.Since(began)) / float64(calls*g.ids())
}

func (b *bench) writeCosts(spent []cost) {
	base := spent[find(b.all, rival)].ns
	var rows [][]string
	for i, g := range b.all {
		rows = append(rows, []string{
			g.name, fmt.Sprintf("%.1f", spent[i].ns), fmt.Sprintf("%.1f", spent[i].low),
			fmt.Sprintf("%.2g", spent[i].allocs), times(base / spent[i].ns),
		})
	}
	r := b.report
	r.p(`Batches of up to 1,000 consecutive calls, never more than a quarter of a millisecond's IDs, from one
goroutine, after a warm-up of a tenth as many. This is the cost of an ID to its caller, without other
callers.

![cost of an ID](cost.svg)

`)
	r.table([]string{"generator", "ns per ID", "10th percentile, ns", "allocations", rival + ", ratio"}, rows)
	r.pictures["cost.svg"] = drawCosts(b.all, spent)
	ours := spent[find(b.all, "snowgrid 7/16")].ns
	r.headline("one ID, far from the limit", fmt.Sprintf("%.1f ns", ours), fmt.Sprintf("%s: %.1f ns", rival, base),
		times(base/ours)+" as long")
}
