package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestAdmissionByTime: the longer work waits for a processor, the more kinds of requests are
// refused: queries first, then creates, then attaches, and renewals only where the answer would
// come too late.
func TestAdmissionByTime(t *testing.T) {
	paths := []string{wire.PathRenew, wire.PathDetach, wire.PathDirectory, wire.PathAttach, wire.PathIDs, wire.PathCreate,
		wire.PathDestroy, wire.PathStatus, wire.PathSequencers}
	for _, c := range []struct {
		delay time.Duration
		left  time.Duration
		want  []string // that are served
	}{
		{0, 2 * time.Second, paths},
		{10 * time.Millisecond, 2 * time.Second, paths},
		{11 * time.Millisecond, 2 * time.Second, paths[:7]},
		{21 * time.Millisecond, 2 * time.Second, paths[:5]},
		{41 * time.Millisecond, 2 * time.Second, paths[:3]},
		{500 * time.Millisecond, 2 * time.Second, paths[:3]},
		{501 * time.Millisecond, 2 * time.Second, nil},
		{time.Minute, 0, paths[:3]}, // who does not say how long it waits is served
		{5 * time.Millisecond, 10 * time.Millisecond, nil},
	} {
		var got []string
		for _, path := range paths {
			if overdue(priorityOf(path), c.delay, c.left) == "" {
				got = append(got, path)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("delay %v, %v left: %q are served, want %q", c.delay, c.left, got, c.want)
		}
	}
}

// delayed returns an admission at a queue delay, with a number of requests in progress.
func delayed(delay time.Duration, requests int) *admission {
	a := &admission{}
	a.delay.at.Store(math.MaxInt64) // it is not measured
	a.delay.median.Store(int64(delay))
	a.requests.Store(int64(requests))
	return a
}

// TestFewRequestsAreServed: a member whose processors others keep busy refuses nothing as long as
// few requests are in progress, and none beyond the bound of the memory.
func TestFewRequestsAreServed(t *testing.T) {
	few := fewRequests * runtime.GOMAXPROCS(0)
	for _, c := range []struct {
		delay    time.Duration
		requests int
		refused  bool
	}{
		{time.Second, few - 1, false}, {time.Second, few, true}, {0, few, false},
		{0, requestsMax - 1, false}, {0, requestsMax, true},
	} {
		a := delayed(c.delay, c.requests)
		leave, err := a.enter(create, 0)
		var later *wire.LaterError
		if refused := errors.As(err, &later); refused != c.refused || refused && (!errors.Is(err, wire.ErrOverloaded) ||
			later.RetryAfter() < time.Second) {
			t.Errorf("%v, %d requests: %v", c.delay, c.requests, err)
		}
		if err == nil {
			leave()
		}
		if got := int(a.requests.Load()); got != c.requests {
			t.Errorf("%v, %d requests: %d are in progress afterwards", c.delay, c.requests, got)
		}
		if got, want := a.refused.Load() == 1, c.refused; got != want {
			t.Errorf("%v, %d requests: counted as refused: %v", c.delay, c.requests, got)
		}
	}
}

// TestStretch: holders renew as usual at a member without a queue, and as seldom as they can at
// one that refuses attaches.
func TestStretch(t *testing.T) {
	many := fewRequests*runtime.GOMAXPROCS(0) + 1
	for _, c := range []struct {
		delay    time.Duration
		requests int
		want     float64
	}{{time.Second, 1, 0}, {0, many, 0}, {patience[attach] / 2, many, 0.5}, {patience[attach], many, 1},
		{time.Hour, many, 1}} {
		if got := delayed(c.delay, c.requests).stretch(); got != c.want {
			t.Errorf("%v, %d requests: %v, want %v", c.delay, c.requests, got, c.want)
		}
	}
}

// TestMedianSince: the median of the new values alone, by the lower bound of its bucket.
func TestMedianSince(t *testing.T) {
	buckets := []float64{math.Inf(-1), 0, 0.001, 0.01, math.Inf(1)}
	for _, c := range []struct {
		before, counts []uint64
		want           time.Duration
	}{
		{[]uint64{0, 0, 0, 0}, []uint64{0, 0, 0, 31}, 0}, // too few
		{[]uint64{0, 0, 0, 0}, []uint64{0, 0, 0, 32}, 10 * time.Millisecond},
		{[]uint64{0, 1000, 0, 0}, []uint64{0, 1016, 17, 0}, time.Millisecond},
		{[]uint64{0, 0, 1000, 1000}, []uint64{40, 10, 1010, 1010}, 0},
	} {
		if got := medianSince(c.before, c.counts, buckets); got != c.want {
			t.Errorf("%v -> %v: %v, want %v", c.before, c.counts, got, c.want)
		}
	}
}

// TestQueueDelayIsCounted: this runtime counts how long goroutines wait for a processor, and the
// counts are read at most once in a while.
func TestQueueDelayIsCounted(t *testing.T) {
	var q queueDelay
	q.now()
	if kind := q.sample[0].Value.Kind(); kind != metrics.KindFloat64Histogram {
		t.Fatalf("the metric %s is of kind %d", q.sample[0].Name, kind)
	}
	sum := func() (n uint64) {
		for _, c := range q.before {
			n += c
		}
		return n
	}
	before := sum()
	for range 100 {
		done := make(chan struct{})
		go close(done)
		<-done
	}
	q.at.Store(math.MaxInt64)
	if q.now(); sum() != before {
		t.Error("read again within its time")
	}
	q.at.Store(0)
	if q.now(); sum() <= before {
		t.Errorf("%d waits counted, %d before", sum(), before)
	}
}

// TestTimeLeft: the time limit that a caller stated.
func TestTimeLeft(t *testing.T) {
	if got := timeLeft(t.Context()); got != 0 {
		t.Errorf("without a limit: %v", got)
	}
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		if got := timeLeft(ctx); got <= 0 || got > time.Hour {
			t.Error(fmt.Sprint(d, ": ", got))
		}
		cancel()
	}
}
