package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// counting is a way to get numbers from Redis, and its results.
type counting struct {
	name        string
	connections int
	pipelined   int // calls per round trip

	client *redis.Client
	rates  []float64 // numbers per second, by round
	times  histogram // round trips
}

func (c *counting) rate() float64 {
	slices.Sort(c.rates)
	return c.rates[len(c.rates)/2]
}

// incr makes one round trip.
func (c *counting) incr(ctx context.Context) error {
	const key = "ids"
	if c.pipelined == 1 {
		return c.client.Incr(ctx, key).Err()
	}
	_, err := c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range c.pipelined {
			p.Incr(ctx, key)
		}
		return nil
	})
	return err
}

// run counts for a window, with one goroutine per connection.
func (c *counting) run(ctx context.Context, window time.Duration) error {
	var stop atomic.Bool
	timer := time.AfterFunc(window, func() { stop.Store(true) })
	defer timer.Stop()
	took, errs := make([]histogram, c.connections), make([]error, c.connections)
	var all sync.WaitGroup
	began := time.Now()
	for i := range took {
		all.Go(func() {
			for !stop.Load() && errs[i] == nil {
				start := time.Now()
				errs[i] = c.incr(ctx)
				took[i].add(time.Since(start))
			}
		})
	}
	all.Wait()
	var trips uint64
	for i := range took {
		trips += took[i].count
		c.times.merge(&took[i])
	}
	c.rates = append(c.rates, float64(trips)*float64(c.pipelined)/time.Since(began).Seconds())
	return errors.Join(errs...)
}

// made has the results for Next in the same run.
type made struct {
	generator
	costs []float64 // ns, by batch
	rates []rate
}

func measureRedis(ctx context.Context, b *bench) error {
	server, err := startRedis(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		b.report.p("Redis: not measured: no redis-server in PATH.\n")
		return nil
	}
	if err != nil {
		return err
	}
	defer server.end()
	ways := []*counting{
		{name: "1 connection", connections: 1, pipelined: 1},
		{name: "50 connections", connections: 50, pipelined: 1},
		{name: "1 connection, pipelines of 16", connections: 1, pipelined: 16},
		{name: "50 connections, pipelines of 16", connections: 50, pipelined: 16},
	}
	for _, w := range ways {
		w.client = server.dial(w.connections)
		defer func() { _ = w.client.Close() }()
	}
	var ours []*made
	for _, g := range pickNamed(b.all, "snowgrid 7/16", "snowgrid 10/13", "snowgrid 13/10") {
		ours = append(ours, &made{generator: g})
	}
	for round := range b.size.rounds + 1 {
		if err := countAll(ctx, ways, ours, b.size, round > 0); err != nil {
			return err
		}
	}
	b.writeRedis(server.version, ways, ours)
	return nil
}

// countAll runs each way and each sequencer in turn. The first round opens connections and does not
// count.
func countAll(ctx context.Context, ways []*counting, ours []*made, size size, counts bool) error {
	for _, w := range ways {
		if err := w.run(ctx, size.window); err != nil {
			return err
		}
		if !counts {
			w.rates, w.times = nil, histogram{}
		}
	}
	for _, m := range ours {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.run(size)
		if !counts {
			m.costs, m.rates = nil, nil
		}
	}
	return nil
}

// run makes IDs, far from the limit and at it.
func (m *made) run(size size) {
	for range size.batches / size.rounds {
		m.costs = append(m.costs, batch(m.generator))
	}
	m.rates = append(m.rates, sustained(m.generator, 1, size.window))
}

func (b *bench) writeRedis(version string, ways []*counting, ours []*made) {
	b.report.p(`A number from Redis %s on loopback, without persistence, each connection with a goroutine that waits for
the answer; compared with Next in one goroutine: the median cost of a call far from the limit, and the
sustained rate. INCR numbers contain no time, and without persistence they restart at 1; the network to a
real Redis server adds to its times.

`, version)
	var rows [][]string
	for _, w := range ways {
		rows = append(rows, []string{"INCR, " + w.name, short(w.times.percentile(0.5)), short(w.times.percentile(0.99)),
			rounded(w.rate())})
	}
	costs := make([]float64, len(ours))
	for i, m := range ours {
		slices.Sort(m.costs)
		costs[i] = m.costs[len(m.costs)/2]
		rows = append(rows, []string{"Next, " + m.name, fmt.Sprintf("%.1f ns", costs[i]), "see latency",
			rounded(m.perSecond())})
	}
	one := float64(ways[0].times.percentile(0.5))
	best := slices.MaxFunc(ways, func(a, b *counting) int { return int(a.rate() - b.rate()) })
	for i, m := range ours {
		rows[len(ways)+i] = append(rows[len(ways)+i], times(one/costs[i]), times(m.perSecond()/ways[0].rate()),
			times(m.perSecond()/best.rate()))
	}
	for i := range ways {
		rows[i] = append(rows[i], "", "", "")
	}
	b.report.table([]string{"source", "p50", "p99", "numbers per second", "time of an INCR, 1 connection, ratio",
		"rate, ratio to 1 connection", "rate, ratio to the best of Redis"}, rows)
	b.report.headline("one number", fmt.Sprintf("7/16: %.1f ns", costs[0]), "Redis INCR, 1 connection: "+
		short(time.Duration(one)), times(one/costs[0])+" as long")
	last := ours[len(ours)-1]
	b.report.headline("numbers per second, 1 goroutine", fmt.Sprintf("7/16: %s, 13/10: %s", rounded(ours[0].perSecond()),
		rounded(last.perSecond())),
		fmt.Sprintf("Redis INCR, %s: %s", best.name, rounded(best.rate())),
		fmt.Sprintf("%s and %s as many", times(ours[0].perSecond()/best.rate()), times(last.perSecond()/best.rate())))
}

// perSecond returns the median rate, in IDs per second.
func (m *made) perSecond() float64 { return middle(m.rates).perMilli * 1000 }
