package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ages has the ages of the timestamps in a scenario's IDs.
type ages struct {
	scenario string
	ids      int
	share    float64 // the share of the ID space used during the scenario
	future   int     // timestamps after the call
	old      int     // 1 ms or more before the call
	oldest   clustertime.Span
}

// aged is a sequencer, and its handle's clock.
type aged struct {
	*sequencer.Sequencer
	clock *handles.Clock
}

// see makes an ID and records its timestamp's age.
func (s aged) see(ctx context.Context, a *ages) error {
	before := s.clock.Now()
	id, err := s.Next(ctx)
	if err != nil {
		return err
	}
	after := s.clock.Now()
	at := clustertime.TickOf(s.Definition().Decompose(id).Time)
	a.ids++
	if at > after {
		a.future++
	}
	if at < before {
		a.old++
		a.oldest = max(a.oldest, before.Sub(at))
	}
	return nil
}

func measureStaleness(ctx context.Context, b *bench) (err error) {
	handles, end, err := dialAged(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	calm, err := b.unsaturated(ctx, handles[0], "")
	if err != nil {
		return err
	}
	stop := hogs(2 * runtime.GOMAXPROCS(0))
	hard, err := b.unsaturated(ctx, handles[0], ", with hogs")
	stop()
	if err != nil {
		return err
	}
	full := make([]ages, len(handles))
	for i, s := range handles {
		if full[i], err = saturated(ctx, s, 5*b.size.window); err != nil {
			return err
		}
	}
	b.writeStaleness(append(calm, hard...), full)
	return nil
}

// dialAged returns sequencers from a client with an accessible clock. Their IDs have 7, 10 and 13
// bits of logical node.
func dialAged(ctx context.Context) (out []aged, end func() error, err error) {
	clock := handles.NewClock()
	c, end, err := dialOwn(ctx, grid.Config{}, clock)
	if err != nil {
		return nil, nil, err
	}
	for _, bits := range []int{7, 10, 13} {
		s, err := c.CreateSequencer(ctx, fmt.Sprintf("aged%d", bits), sequencer.Config{Nodes: 1 << bits})
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		out = append(out, aged{Sequencer: s, clock: clock})
	}
	return out, end, nil
}

// dialOwn returns a client with the given clock, and starts a member for it.
func dialOwn(ctx context.Context, cfg grid.Config, clock *handles.Clock) (c *client.Client, end func() error,
	err error) {
	cfg.GossipAddr, cfg.RaftAddr, cfg.APIAddr, cfg.FirstLife = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", true
	member, err := grid.Start(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	c, err = client.Dial(ctx, calls.With(client.Config{Addrs: []string{member.Addrs().API}}, calls.Parts{Clock: clock}))
	if err != nil {
		return nil, nil, errors.Join(err, member.Close())
	}
	return c, func() error { return errors.Join(c.Close(), member.Close()) }, nil
}

// hogs starts n spinning goroutines; stop ends them.
func hogs(n int) (stop func()) {
	var ended atomic.Bool
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for !ended.Load() {
			}
		})
	}
	return func() { ended.Store(true); all.Wait() }
}

// unsaturated runs the scenarios that leave most of the ID space unused.
func (b *bench) unsaturated(ctx context.Context, s aged, suffix string) ([]ages, error) {
	pace := pacer{base: time.Now(), pace: 10 * time.Microsecond}
	scenarios := []struct {
		name  string
		ids   int
		pause func(i int)
	}{
		{"one per 10 µs", b.size.paced, func(int) { pace.wait() }},
		{"one per 3 ms", b.size.sparse, func(int) { time.Sleep(3 * time.Millisecond) }},
		{"bursts of 20,000, 5 ms apart", b.size.bursts * burst, func(i int) {
			if i%burst == 0 {
				time.Sleep(5 * time.Millisecond)
			}
		}},
	}
	var out []ages
	for _, scenario := range scenarios {
		a := ages{scenario: scenario.name + suffix}
		began := s.began()
		for i := range scenario.ids {
			scenario.pause(i)
			if err := s.see(ctx, &a); err != nil {
				return nil, err
			}
		}
		a.share = began.share()
		out = append(out, a)
	}
	return out, nil
}

// burst is the number of IDs in a burst.
const burst = 20_000

// saturated measures one goroutine's IDs while another takes as many as possible.
func saturated(ctx context.Context, s aged, window time.Duration) (ages, error) {
	var stop atomic.Bool
	var taking sync.WaitGroup
	taking.Go(func() {
		buffer := make([]sequencer.ID, 64)
		for !stop.Load() {
			_, _ = s.Fill(ctx, buffer)
		}
	})
	time.Sleep(20 * time.Millisecond) // until it is saturated
	a := ages{scenario: fmt.Sprintf("full rate, of %s a millisecond", thousands(float64(s.perMilli())))}
	var err error
	began := s.began()
	for err == nil && time.Since(began.at) < window {
		err = s.see(ctx, &a)
	}
	a.share = began.share()
	stop.Store(true)
	taking.Wait()
	return a, err
}

// perMilli returns the logical node's IDs per millisecond.
func (s aged) perMilli() int {
	return 1 << s.Definition().Config().Layout.LowBits / s.Definition().Config().Nodes
}

// beginning is the start of a measurement of the number of IDs.
type beginning struct {
	of  aged
	ids uint64
	at  time.Time
}

func (s aged) began() beginning { return beginning{of: s, ids: s.Stats().IDs, at: time.Now()} }

// share returns the share of the ID space used since the beginning.
func (b beginning) share() float64 {
	took := float64(time.Since(b.at)) / float64(time.Millisecond)
	return float64(b.of.Stats().IDs-b.ids) / took / float64(b.of.perMilli())
}

func (b *bench) writeStaleness(unsaturated, full []ages) {
	var rows [][]string
	var future, old, ids int
	for _, a := range append(unsaturated, full...) {
		rows = append(rows, []string{
			a.scenario, thousands(float64(a.ids)), fmt.Sprintf("%.3f", a.share), fmt.Sprint(a.future),
			fmt.Sprintf("%s (%.3g %%)", thousands(float64(a.old)), 100*float64(a.old)/float64(max(a.ids, 1))),
			fmt.Sprintf("%d ms", a.oldest),
		})
		future += a.future
	}
	for _, a := range unsaturated {
		old, ids = old+a.old, ids+a.ids
	}
	b.report.p(`A client reads its own cluster time, the clock of its handle, immediately before and after each call. The
age of an ID is the distance of its timestamp before the first reading; it is in the future if it lies
after the second. This is exact, and independent of the distance between cluster time and true time.
Scenarios that do not use up the ID space have 65,536 IDs per millisecond; the hogs are two spinning
goroutines per core. At full rate another goroutine takes 64 IDs at a time next to the one that is
measured; then timestamps may be up to 4 ms old by design.

`)
	b.report.table([]string{"scenario", "IDs measured", "share of the ID space used", "in the future", "1 ms old or more",
		"oldest"}, rows)
	b.report.headline("timestamps in the future", fmt.Sprint(future), "", "")
	b.report.headline("timestamps 1 ms old or more, ID space not used up",
		fmt.Sprintf("%d of %s", old, thousands(float64(ids))), "", "")
}
