package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBucketsAreInOrderWithoutGaps(t *testing.T) {
	for bucket := range buckets {
		end := endOf(bucket)
		if got := bucketOf(end); got != bucket {
			t.Fatalf("the end of bucket %d, %d, is in bucket %d", bucket, end, got)
		}
		if end == math.MaxUint64 {
			if bucket != buckets-1 {
				t.Fatalf("bucket %d of %d is the last that is used", bucket, buckets)
			}
			continue
		}
		if got := bucketOf(end + 1); got != bucket+1 {
			t.Fatalf("%d is in bucket %d, want %d", end+1, got, bucket+1)
		}
	}
}

func TestPercentilesAreThoseOfSortedDurations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var first, second histogram
	var all []time.Duration
	for i := range 10_000 {
		d := time.Duration(math.Exp(random.Float64() * 25))
		all = append(all, d)
		if i%3 == 0 {
			first.add(d)
		} else {
			second.add(d)
		}
	}
	first.merge(&second)
	slices.Sort(all)
	for _, q := range []float64{0, 0.0001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
		got := first.percentile(q)
		if got < want || got > want+want/32 {
			t.Errorf("percentile %g is %d, want %d to %d", q, got, want, want+want/32)
		}
	}
	if first.count != uint64(len(all)) || first.longest != all[len(all)-1] {
		t.Errorf("%d durations up to %v, want %d up to %v", first.count, first.longest, len(all), all[len(all)-1])
	}
}

func TestPercentileOfNothingIsZero(t *testing.T) {
	var h histogram
	if got := h.percentile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}
