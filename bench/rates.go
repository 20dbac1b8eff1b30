package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// rate is a sustained rate.
type rate struct {
	perMilli float64 // IDs
	share    float64 // share of the ID space, 0 if that is unlimited
	cores    float64 // CPU use
}

// goroutines are the numbers of concurrent callers.
var goroutines = []int{1, 2, 8, 64}

func measureRates(ctx context.Context, b *bench) error {
	reached, err := rates(ctx, b.all, b.size)
	if err != nil {
		return err
	}
	b.writeRates(reached)
	return nil
}

// rates measures each generator with each number of goroutines; their windows take turns.
func rates(ctx context.Context, all []generator, size size) ([][]rate, error) {
	samples := make([][][]rate, len(all))
	for i := range samples {
		samples[i] = make([][]rate, len(goroutines))
	}
	for range size.rounds {
		for i, g := range all {
			for j, n := range goroutines {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				samples[i][j] = append(samples[i][j], sustained(g, n, size.window))
			}
		}
	}
	out := make([][]rate, len(all))
	for i := range all {
		for j := range goroutines {
			out[i] = append(out[i], middle(samples[i][j]))
		}
	}
	return out, nil
}

// middle returns the median rate.
func middle(samples []rate) rate {
	slices.SortFunc(samples, func(a, b rate) int { return int(a.perMilli - b.perMilli) })
	return samples[len(samples)/2]
}

// sustained runs goroutines for a window, after a warm-up.
func sustained(g generator, n int, window time.Duration) rate {
	var calls, stop atomic.Int64
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			const batch = 64
			for stop.Load() == 0 {
				for range batch {
					g.next()
				}
				calls.Add(batch)
			}
		})
	}
	time.Sleep(window / 5)
	before, burnt, began := calls.Load(), cpu(), time.Now()
	time.Sleep(window)
	made, cores, took := calls.Load()-before, cpu()-burnt, time.Since(began)
	stop.Store(1)
	all.Wait()
	r := rate{
		perMilli: float64(made) * float64(g.ids()) / (float64(took) / float64(time.Millisecond)),
		cores:    float64(cores) / float64(took),
	}
	if g.perMilli > 0 {
		r.share = r.perMilli / g.perMilli
	}
	return r
}

// cpu returns the processor time used by this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (b *bench) writeRates(reached [][]rate) {
	head := []string{"generator"}
	for _, n := range goroutines {
		head = append(head, strconv.Itoa(n))
	}
	var rows [][]string
	for i, g := range b.all {
		row := []string{g.name}
		for _, r := range reached[i] {
			if g.perMilli > 0 {
				row = append(row, fmt.Sprintf("%.3f, %.2f cores", r.share, r.cores))
			} else {
				row = append(row, fmt.Sprintf("%.1f/µs, %.2f cores", r.perMilli/1000, r.cores))
			}
		}
		rows = append(rows, row)
	}
	b.report.p(`Goroutines that only call, by their number: the share of the ID space that was issued, and the processor
cores used. For generators without a limit of the ID space, IDs per microsecond. A share slightly above 1
results from the edges of the measurement. The processor time left for other work is not measured.

`)
	b.report.table(head, rows)
	ours, theirs := reached[find(b.all, "snowgrid 7/16")], reached[find(b.all, rival)]
	for _, j := range []int{0, len(goroutines) - 1} {
		b.report.headline(fmt.Sprintf("share of 65,536 IDs per millisecond, goroutines: %d", goroutines[j]),
			fmt.Sprintf("%.3f, %.2f cores", ours[j].share, ours[j].cores),
			fmt.Sprintf("%s: %.3f, %.2f cores", rival, theirs[j].share, theirs[j].cores),
			times(ours[j].share/theirs[j].share)+" as many")
	}
}
