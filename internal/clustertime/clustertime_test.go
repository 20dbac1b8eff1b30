package clustertime

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestClusterTimeProperties compares random samples and reads with the promised
// properties: back only when too far ahead, never before the best of the last ten samples, never
// after the best of all, and between two samples at a pace from 0.99 to 1.
func TestClusterTimeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const epoch = 1_800_000_000_000
		var c ClusterTime
		var offsets []int64 // ns
		mono, last := int64(0), Tick(0)
		advance := func(t *rapid.T) {
			mono += rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, 20e9)).Draw(t, "ns")
		}
		t.Repeat(map[string]func(*rapid.T){
			"sample": func(t *rapid.T) {
				advance(t)
				tick := epoch + mono/1e6 + rapid.Int64Range(-30_000, 30_000).Draw(t, "error")
				before := c.At(time.Duration(mono))
				c = c.Sample(time.Duration(mono), Tick(tick))
				if now := c.At(time.Duration(mono)); now < before {
					if before.Sub(now) < SpanOf(maxAhead) {
						t.Fatalf("stepped from %d to %d", before, now)
					}
					last = now
				}
				offsets = append(offsets, tick*1e6-mono)
			},
			"run": advance,
			"": func(t *rapid.T) {
				now := c.At(time.Duration(mono))
				if !c.Known() {
					if now != 0 || len(offsets) > 0 {
						t.Fatalf("unknown time %d after %d samples", now, len(offsets))
					}
					return
				}
				low := (mono + largest(offsets[max(0, len(offsets)-10):])) / 1e6
				high := (mono + largest(offsets)) / 1e6
				if now < last || now < Tick(low) || now > Tick(high) {
					t.Fatalf("%d after %d, not within %d and %d", now, last, low, high)
				}
				if len(offsets) >= 10 && now.Sub(Tick(low)) > SpanOf(maxAhead)+1 {
					t.Fatalf("%d ms ahead of the samples", now-Tick(low))
				}
				last = now
				checkPace(t, c.Pace(), mono)
			},
		})
	})
}

func checkPace(t *rapid.T, p Pace, mono int64) {
	ahead := rapid.Int64Range(0, 100e9).Draw(t, "ahead")
	passed := p.nanos(mono+ahead) - p.nanos(mono)
	if passed > ahead || passed < ahead/100*99-1 {
		t.Fatalf("%d ns passed in %d", passed, ahead)
	}
}

func largest(offsets []int64) int64 {
	best := offsets[0]
	for _, o := range offsets {
		best = max(best, o)
	}
	return best
}

// TestClusterTimeExtremes: whatever it is given, it does not overflow, and between
// two samples it does not go back.
func TestClusterTimeExtremes(t *testing.T) {
	extremes := []int64{math.MinInt64, -1, 0, 1, 1e6, 1 << 61, 1 << 62, math.MaxInt64}
	rapid.Check(t, func(t *rapid.T) {
		c := ClusterTime{}.Sample(0, 0)
		for range 20 {
			mono := rapid.SampledFrom(extremes).Draw(t, "mono")
			c = c.Sample(time.Duration(mono), Tick(rapid.SampledFrom(extremes).Draw(t, "tick")))
			if now := c.At(time.Duration(mono)); now < 0 || now > Tick(3*maxTimeNanos/2/int64(time.Millisecond)) {
				t.Fatalf("%d at %d", now, mono)
			}
			last := Tick(0)
			for _, mono := range extremes {
				if now := c.At(time.Duration(mono)); now < last {
					t.Fatalf("%d at %d, after %d", now, mono, last)
				} else {
					last = now
				}
			}
		}
	})
}

// TestPaceIsCheap: reading the time takes no memory.
func TestPaceIsCheap(t *testing.T) {
	pace := ClusterTime{}.Sample(time.Second, 1_800_000_000_000).Pace()
	mono := 2 * time.Second
	if n := testing.AllocsPerRun(100, func() {
		mono += time.Duration(pace.At(mono) & 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPaceAt(b *testing.B) {
	pace := ClusterTime{}.Sample(time.Second, 1_800_000_000_000).Pace()
	mono := 2 * time.Second
	for b.Loop() {
		mono += time.Duration(pace.At(mono) & 1)
	}
}

func ExampleClusterTime() {
	var c ClusterTime
	fmt.Println(c.Known())
	c = c.Sample(10*time.Second, 1_800_000_000_000)
	fmt.Println(c.At(12 * time.Second))
	// Output:
	// false
	// 1800000002000
}
