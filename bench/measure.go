package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cost is what a call costs while the limit is far.
type cost struct {
	ns     float64 // median of batches
	low    float64 // tenth percentile
	allocs float64
}

// batchShare is the part of a millisecond's IDs that a batch takes at most, so that
// the limit is not what is measured.
const batchShare = 0.25

// costs measures all in turn, batch by batch.
func costs(all []generator) []cost {
	samples := make([][]float64, len(all))
	for range *batches {
		for i, g := range all {
			calls := 1000 / g.ids()
			if g.perMilli > 0 {
				calls = min(calls, max(1, int(g.perMilli*batchShare)/g.ids()))
			}
			time.Sleep(200 * time.Microsecond) // what was used up before is free again
			began := time.Now()
			for range calls {
				g.next()
			}
			samples[i] = append(samples[i], float64(time.Since(began))/float64(calls*g.ids()))
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
	return out
}

// rate is what comes out in the long run.
type rate struct {
	perMilli float64 // IDs
	share    float64 // of the ID space, 0 if that has no limit
	cores    float64 // of CPU burnt
}

// goroutines are how many call at once.
var goroutines = []int{1, 2, 8, 64}

// rates measures each generator with each number of goroutines; windows of all take
// turns.
func rates(all []generator) [][]rate {
	samples := make([][][]rate, len(all))
	for i := range samples {
		samples[i] = make([][]rate, len(goroutines))
	}
	for range *windows {
		for i, g := range all {
			for j, n := range goroutines {
				samples[i][j] = append(samples[i][j], sustained(g, n))
			}
		}
	}
	out := make([][]rate, len(all))
	for i := range all {
		for j := range goroutines {
			slices.SortFunc(samples[i][j], func(a, b rate) int { return int(a.perMilli - b.perMilli) })
			out[i] = append(out[i], samples[i][j][len(samples[i][j])/2])
		}
	}
	return out
}

// sustained runs goroutines for a window, after a while to warm up.
func sustained(g generator, n int) rate {
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
	time.Sleep(*window / 5)
	before, burnt, began := calls.Load(), cpu(), time.Now()
	time.Sleep(*window)
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

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
