package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// percentiles are the ones in the report.
var percentiles = []float64{0.5, 0.99, 0.999, 0.9999}

// manner is a calling pattern.
type manner struct {
	title      string
	goroutines int
	pace       time.Duration // the time between a goroutine's calls; 0 = none
}

var manners = []manner{
	{title: "1 goroutine, at full rate", goroutines: 1},
	{title: "2 goroutines, at full rate", goroutines: 2},
	{title: "64 goroutines, at full rate", goroutines: 64},
	{title: "2 goroutines, one call per 20 µs each", goroutines: 2, pace: 20 * time.Microsecond},
}

// latency has the durations of a generator's calls.
type latency struct {
	name  string
	times histogram
}

// latencies has the results for all generators under one calling pattern.
type latencies struct {
	manner
	rows []*latency
}

// clockAlone names the row for a call that does nothing.
const clockAlone = "clock readings alone"

func measureLatency(ctx context.Context, b *bench) error {
	picked := pickNamed(b.all, "snowgrid 7/16", "snowgrid 10/13", "snowgrid 13/10", rival, "sonyflake v2, 1 ms, 16 bits")
	picked = append(picked, generator{name: clockAlone, next: func() {}})
	var measured []latencies
	for _, m := range manners {
		l := latencies{manner: m}
		for _, g := range picked {
			l.rows = append(l.rows, &latency{name: g.name})
		}
		measured = append(measured, l)
	}
	for range b.size.rounds {
		for _, l := range measured {
			for i, g := range picked {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				l.rows[i].times.merge(timeCalls(g, l.manner, b.size.window))
			}
		}
	}
	b.writeLatency(measured)
	return nil
}

// timeCalls times every call in a window.
func timeCalls(g generator, m manner, window time.Duration) *histogram {
	var stop atomic.Bool
	var all sync.WaitGroup
	each := make([]histogram, m.goroutines)
	base := time.Now()
	for i := range each {
		all.Go(func() {
			p := pacer{base: base, pace: m.pace}
			for !stop.Load() {
				p.wait()
				began := time.Since(base)
				g.next()
				each[i].add(time.Since(base) - began)
			}
		})
	}
	time.Sleep(window)
	stop.Store(true)
	all.Wait()
	for i := range each[1:] {
		each[0].merge(&each[i+1])
	}
	return &each[0]
}

// pacer spaces calls. It spins, since a sleep is far longer than the wait.
type pacer struct {
	base time.Time
	pace time.Duration
	due  time.Duration
}

// wait returns when the next call is due; missed calls are not repeated.
func (p *pacer) wait() {
	if p.pace == 0 {
		return
	}
	now := time.Since(p.base)
	for now < p.due {
		now = time.Since(p.base)
	}
	p.due = max(p.due, now-p.pace) + p.pace
}

func (b *bench) writeLatency(measured []latencies) {
	alone := measured[0].rows[len(measured[0].rows)-1].times.percentile(0.5)
	b.report.p(`Every call is timed by two readings of the monotonic clock, which take %s by themselves (median) and are
not subtracted. A caller that requests more IDs than a millisecond has must wait, and the fewer there are,
the more calls wait: their tail is waiting, not work. With two clock readings per call a few goroutines
cannot use up 65,536 IDs. The longest calls of 64 goroutines are those that lost their core to the others,
so they depend on the scheduler more than on the generator.

![latency of a call](latency.svg)
`, short(alone))
	for _, l := range measured {
		b.report.p("\n### %s\n\n", l.title)
		b.report.table([]string{"generator", "p50", "p99", "p99.9", "p99.99", "longest", "calls"}, latencyRows(l))
	}
	b.report.pictures["latency.svg"] = drawLatency(measured)
	for _, l := range measured[2:] {
		ours, theirs := l.rows[0].times.percentile(0.999), l.rows[3].times.percentile(0.999)
		b.report.headline("p99.9 of a call, "+l.title, short(ours), fmt.Sprintf("%s: %s", rival, short(theirs)),
			times(float64(theirs)/float64(ours))+" as long")
	}
}

func latencyRows(l latencies) (rows [][]string) {
	for _, r := range l.rows {
		row := []string{r.name}
		for _, q := range percentiles {
			row = append(row, short(r.times.percentile(q)))
		}
		rows = append(rows, append(row, short(r.times.longest), thousands(float64(r.times.count))))
	}
	return rows
}
