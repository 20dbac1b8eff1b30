package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/client/store"
)

const (
	raceRounds = 10
	racers     = 16
)

// race lets many swappers write one key from one revision, and returns the winner's body.
func (b *bench) race(from store.Entry) store.Entry {
	b.Helper()
	var (
		start   = make(chan struct{})
		wg      sync.WaitGroup
		mu      sync.Mutex
		winners []store.Entry
		unsure  = map[string]error{} // by body: swaps with an outcome unknown to the store
	)
	for n := range racers {
		s := b.store
		if n%2 == 1 {
			s = b.other
		}
		wg.Go(func() {
			e := from
			e.Body = fmt.Appendf(nil, "%s by %d", from.Revision, n)
			<-start
			revision, err := s.Swap(b.ctx, e)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				e.Revision = revision
				winners = append(winners, e)
			case !errors.Is(err, store.ErrChanged):
				unsure[string(e.Body)] = err
			}
		})
	}
	close(start)
	wg.Wait()
	have, err := b.store.Load(b.ctx, from.Key)
	if err != nil {
		b.Fatalf("load after a race: %v", err)
	}
	if err, is := unsure[string(have.Body)]; is {
		b.Logf("the winner does not know that it won: %v", err)
		winners = append(winners, have)
	}
	if len(winners) != 1 {
		b.Fatalf("%d of %d swaps from revision %q were written, of which one may be; %d outcomes are unknown: %v",
			len(winners), racers, from.Revision, len(unsure), unsure)
	}
	b.want(b.other, winners[0])
	return winners[0]
}

func concurrentCreates(b *bench) {
	for round := range raceRounds {
		b.race(store.Entry{Key: b.key(strconv.Itoa(round))})
	}
}

func concurrentSwaps(b *bench) {
	e := b.create(b.key("k"), "start")
	for range raceRounds {
		e = b.race(e)
	}
}

// counter: concurrent increments, each a load and a swap, are all counted once; and a
// load sees each write that was done before it began.
func counter(b *bench) {
	const writers, each = 8, 15
	start := b.create(b.key("count"), "0")
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		counts = map[int]int{} // by value: how often it was written
		done   atomic.Int64    // the highest value that was surely written
	)
	for n := range writers {
		s := b.store
		if n%2 == 1 {
			s = b.other
		}
		wg.Go(func() {
			for written := 0; written < each; {
				before := done.Load()
				e, err := s.Load(b.ctx, start.Key)
				if err != nil {
					b.Errorf("load: %v", err)
					return
				}
				value, err := strconv.Atoi(string(e.Body))
				if err != nil || int64(value) < before {
					b.Errorf("load after %d was written: %q", before, e.Body)
					return
				}
				e.Body = []byte(strconv.Itoa(value + 1))
				runtime.Gosched() // Others read the same value, also where a call takes no time.
				if _, err = s.Swap(b.ctx, e); errors.Is(err, store.ErrChanged) {
					continue
				}
				if err != nil {
					b.Errorf("swap: %v", err)
					return
				}
				for old := done.Load(); int64(value+1) > old && !done.CompareAndSwap(old, int64(value+1)); old = done.Load() {
				}
				mu.Lock()
				counts[value+1]++
				mu.Unlock()
				written++
			}
		})
	}
	wg.Wait()
	for value, times := range counts {
		if times != 1 {
			b.Errorf("%d writers wrote %d", times, value)
		}
	}
	e, err := b.store.Load(b.ctx, start.Key)
	if want := []byte(strconv.Itoa(writers * each)); err != nil || !bytes.Equal(e.Body, want) {
		b.Errorf("the count is %q after %s increments, %v", e.Body, want, err)
	}
}
