package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// callers is the number of concurrent callers.
const callers = 64

// keeper is a system that assigns logical nodes: a grid, or etcd.
type keeper struct {
	name string
	// steps are the calls, in order, by which a process acquires a logical node; giveBack returns
	// it.
	steps    []step
	giveBack func(ctx context.Context, caller int) error
	toAndFro string // these calls in words
	// creates are ways to create something to acquire, and clean removes a caller's creations.
	creates []step
	clean   func(ctx context.Context, caller int) error
	end     func()
}

// step is a call by one caller; a caller uses each number once.
type step struct {
	name string
	call func(ctx context.Context, caller, number int) error
}

// hold executes all steps.
func (k *keeper) hold(ctx context.Context, caller, number int) error {
	for _, s := range k.steps {
		if err := s.call(ctx, caller, number); err != nil {
			return err
		}
	}
	return nil
}

// holdAndGiveBack executes all steps and then giveBack.
func (k *keeper) holdAndGiveBack(ctx context.Context, caller, number int) error {
	if err := k.hold(ctx, caller, number); err != nil {
		return err
	}
	return k.giveBack(ctx, caller)
}

func measureControl(ctx context.Context, b *bench) error {
	keepers, absent, err := startKeepers(ctx)
	defer func() {
		for _, k := range keepers {
			k.end()
		}
	}()
	if err != nil {
		return err
	}
	synced, err := syncTime()
	if err != nil {
		return err
	}
	alone, err := attachAlone(ctx, keepers, b.size)
	if err != nil {
		return err
	}
	var loads []load
	for i, k := range keepers {
		loads = append(loads, load{keeper: i, name: k.name, what: k.toAndFro, call: k.holdAndGiveBack})
		for _, s := range k.creates {
			loads = append(loads, load{keeper: i, name: k.name, what: s.name, call: s.call})
		}
	}
	if err := runLoads(ctx, keepers, loads, b.size); err != nil {
		return err
	}
	b.writeControl(alone, loads, synced, absent)
	return nil
}

// startKeepers starts the systems to compare; absent names the missing ones. With an error, the
// ones already started are returned too.
func startKeepers(ctx context.Context) (out []*keeper, absent string, err error) {
	starts := []func() (*keeper, error){
		func() (*keeper, error) { return gridKeeper(ctx, "snowgrid, 3 processes", startClearProcesses) },
		func() (*keeper, error) { return gridKeeper(ctx, "snowgrid, members in this process", startMembers) },
		func() (*keeper, error) { return etcdKeeper(ctx) },
	}
	for _, start := range starts {
		k, err := start()
		if errors.Is(err, exec.ErrNotFound) {
			return out, "etcd: not measured: no etcd in PATH.", nil
		}
		if err != nil {
			return out, "", err
		}
		out = append(out, k)
	}
	return out, "", nil
}

// attachTimes has the durations of the acquiring steps, and of all steps together.
type attachTimes struct {
	keeper *keeper
	steps  []histogram
	whole  histogram
}

// attachAlone attaches with one caller at a time, in turns over all keepers.
func attachAlone(ctx context.Context, keepers []*keeper, size size) ([]*attachTimes, error) {
	var out []*attachTimes
	for _, k := range keepers {
		out = append(out, &attachTimes{keeper: k, steps: make([]histogram, len(k.steps))})
		for caller := range callers { // opens the connections
			if err := k.holdAndGiveBack(ctx, caller, 0); err != nil {
				return nil, err
			}
		}
	}
	for range size.attaches {
		for _, t := range out {
			for i := range size.turn {
				if err := t.attach(ctx, i%callers); err != nil {
					return nil, err
				}
			}
		}
		slices.Reverse(out)
	}
	slices.SortFunc(out, func(a, b *attachTimes) int {
		return slices.Index(keepers, a.keeper) - slices.Index(keepers, b.keeper)
	})
	return out, nil
}

// attach times one attach; giveBack is not timed.
func (t *attachTimes) attach(ctx context.Context, caller int) error {
	began := time.Now()
	last := began
	for i, s := range t.keeper.steps {
		if err := s.call(ctx, caller, 0); err != nil {
			return err
		}
		now := time.Now()
		t.steps[i].add(now.Sub(last))
		last = now
	}
	t.whole.add(last.Sub(began))
	return t.keeper.giveBack(ctx, caller)
}

// load is one kind of call, repeated by many callers.
type load struct {
	keeper     int
	name, what string
	call       func(ctx context.Context, caller, number int) error

	rates  []float64 // per second, by round
	times  histogram
	number [callers]int // each caller's next number
}

// rate returns the median over all rounds, per second.
func (l *load) rate() float64 {
	slices.Sort(l.rates)
	return l.rates[len(l.rates)/2]
}

// runLoads runs the loads in turns.
func runLoads(ctx context.Context, keepers []*keeper, loads []load, size size) error {
	for range size.rounds {
		for i := range loads {
			l := &loads[i]
			if err := l.run(ctx, 2*size.window); err != nil {
				return err
			}
			clean := keepers[l.keeper].clean
			err := each(func(caller int) error { return clean(ctx, caller) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// run repeats the call with all callers for a window.
func (l *load) run(ctx context.Context, window time.Duration) error {
	var stop, calls atomic.Int64
	timer := time.AfterFunc(window, func() { stop.Store(1) })
	defer timer.Stop()
	var took [callers]histogram
	began := time.Now()
	err := each(func(caller int) error {
		for stop.Load() == 0 {
			l.number[caller]++
			start := time.Now()
			if err := l.call(ctx, caller, l.number[caller]); err != nil {
				stop.Store(1)
				return err
			}
			took[caller].add(time.Since(start))
			calls.Add(1)
		}
		return nil
	})
	l.rates = append(l.rates, float64(calls.Load())/time.Since(began).Seconds())
	for i := range took {
		l.times.merge(&took[i])
	}
	return err
}

// each runs all callers concurrently.
func each(call func(caller int) error) error {
	var all sync.WaitGroup
	var errs [callers]error
	for caller := range callers {
		all.Go(func() { errs[caller] = call(caller) })
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// syncTime returns the median time for a small synced write to the disk that etcd uses.
func syncTime() (time.Duration, error) {
	file, err := os.CreateTemp("", "bench-sync-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close(); _ = os.Remove(file.Name()) }()
	var h histogram
	for range 100 {
		began := time.Now()
		if _, err := file.Write(make([]byte, 2048)); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		h.add(time.Since(began))
	}
	return h.percentile(0.5), nil
}
