package measure

import (
	"math"
	"sync"
	"testing"
	"time"
)

type bucket struct {
	UpTo  time.Duration
	Count uint64
}

type distribution struct {
	Count   uint64
	Sum     time.Duration
	Buckets []bucket
}

func read(h *Histogram) (d distribution) {
	d.Count, d.Sum, d.Buckets = Read[bucket](h)
	return d
}

// TestHistogramCountsUpToItsBounds: a duration that equals a bound is in its bucket, and one
// above all bounds counts in the total alone.
func TestHistogramCountsUpToItsBounds(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{-time.Second, time.Millisecond, time.Millisecond + 1, time.Hour} {
		h.Observe(d)
	}
	got := read(&h)
	if got.Count != 4 || got.Sum != time.Hour+2*time.Millisecond+1 {
		t.Errorf("count %d, sum %v", got.Count, got.Sum)
	}
	for _, b := range got.Buckets {
		want := uint64(1)
		if b.UpTo >= time.Millisecond {
			want++
		}
		if b.UpTo > time.Millisecond {
			want++
		}
		if b.Count != want {
			t.Errorf("up to %v: %d, want %d", b.UpTo, b.Count, want)
		}
	}
}

// TestHistogramSumDoesNotOverflow: a sum at its limit stays there.
func TestHistogramSumDoesNotOverflow(t *testing.T) {
	var h Histogram
	h.Observe(math.MaxInt64)
	h.Observe(math.MaxInt64)
	if got := read(&h); got.Sum != math.MaxInt64 || got.Count != 2 {
		t.Errorf("sum %d, count %d", got.Sum, got.Count)
	}
}

func TestHistogramConcurrently(t *testing.T) {
	var h Histogram
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				h.Observe(time.Millisecond)
			}
		})
	}
	all.Wait()
	if got := read(&h); got.Count != 4000 || got.Sum != 4*time.Second {
		t.Errorf("count %d, sum %v", got.Count, got.Sum)
	}
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	for b.Loop() {
		h.Observe(3 * time.Millisecond)
	}
}
