package clustertime

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCheckClock(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		now  Tick
		want bool
	}{
		{TickOf(start), true},
		{TickOf(start) - 1, false},
		{TickOf(end), true},
		{TickOf(end) + 1, false},
		{0, false},
		{math.MinInt64, false},
		{math.MaxInt64, false},
	} {
		if err := CheckClock(c.now); (err == nil) != c.want || err != nil && !errors.Is(err, ErrClock) {
			t.Errorf("%d: %v", c.now, err)
		}
	}
	if err := CheckClock(0); !strings.Contains(err.Error(), "1970-01-01T00:00:00Z") ||
		!strings.Contains(err.Error(), "set this machine's clock") {
		t.Errorf("the message names no time or no fix: %v", err)
	}
}

// TestClockBoundMoves: no clock is refused for the calendar year before the epochs of IDs end, and one
// that is twenty years ahead of the grid's data is.
func TestClockBoundMoves(t *testing.T) {
	for _, ends := range []int{2046, 2060, 2080, 2095} {
		now := TickOf(time.Date(ends, 1, 1, 0, 0, 0, 0, time.UTC))
		if err := CheckClock(now); err != nil {
			t.Errorf("%d: %v", ends, err)
		}
		for last, want := range map[Tick]bool{0: true, now: true, now + 5: true, now - Tick(longestStop): true,
			now - Tick(longestStop) - 1: false} {
			if err := CheckClockAfter(now, last); (err == nil) != want || err != nil &&
				(!errors.Is(err, ErrClock) || !strings.Contains(err.Error(), text(last))) {
				t.Errorf("%d, the last time %d ms before: %v", ends, now-last, err)
			}
		}
	}
}

// TestTimekeeperProperties: time never goes back, never runs ahead of the clocks
// faster than 0.99, and jumps far only after a minute of agreement, however many of
// its raises fail.
func TestTimekeeperProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k Timekeeper
		now, agreed := Tick(1_800_000_000_000), time.Duration(-1)
		var elapsed time.Duration // since the last raise that did not fail
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			voters := rapid.IntRange(1, 5).Draw(t, "voters")
			passed := time.Duration(rapid.Int64Range(0, 20e9).Draw(t, "passed"))
			elapsed += passed
			clocks := drawClocks(t, now, voters)
			given := slices.Clone(clocks)
			next, kept, v := k.Next(now, elapsed, clocks, voters)
			if !slices.Equal(given, clocks) {
				t.Fatal("the clocks were sorted in place")
			}
			onward, whole := now+Tick(elapsed*99/100/time.Millisecond), now.Add(SpanOf(elapsed))
			if v.Majority != (2*len(clocks) > voters) || v.Held && v.Jump <= JumpLimit {
				t.Fatalf("%d clocks of %d voters: %+v", len(clocks), voters, v)
			}
			if next < onward || next > onward+1 && !ahead(clocks, next) {
				t.Fatalf("%d after %d and %s, clocks %v", next, now, elapsed, clocks)
			}
			switch {
			case v.Jump == 0:
				agreed = -1
			case agreed < 0:
				agreed = 0
			default:
				agreed += passed
			}
			// A raise that did not move the time is not told from one that failed.
			if next.Sub(whole) > JumpLimit && agreed < JumpAgreement || v.Held && agreed >= JumpAgreement+time.Second {
				t.Fatalf("from %d to %d after %s: %+v", now, next, agreed, v)
			}
			if !v.Held {
				agreed = -1
			}
			if k = kept; !rapid.Bool().Draw(t, "fails") {
				now, elapsed = next, 0
			}
		}
	})
}

// TestJumpWhileRaisesFail: the time since the last raise advances while raises fail, and
// each round counts as agreement only for its own length.
func TestJumpWhileRaisesFail(t *testing.T) {
	const prev = 1_800_000_000_000
	clocks := []Tick{prev + 3_600_000}
	var k Timekeeper
	for elapsed := time.Second; elapsed <= time.Second+JumpAgreement; elapsed += time.Second {
		next, kept, v := k.Next(prev, elapsed, clocks, 1)
		if agreed := elapsed - time.Second; v.Agreed != agreed || v.Held != (agreed < JumpAgreement) ||
			v.Held == (next == clocks[0]) {
			t.Fatalf("%v after the last raise: %d, %+v", elapsed, next, v)
		}
		k = kept
	}
}

// drawClocks gives the clocks of some voters, near now or far ahead.
func drawClocks(t *rapid.T, now Tick, voters int) []Tick {
	base := now + rapid.SampledFrom([]Tick{0, 0, 3_000_000}).Draw(t, "jump")
	clocks := make([]Tick, rapid.IntRange(0, voters).Draw(t, "answers"))
	for at := range clocks {
		clocks[at] = base + Tick(rapid.Int64Range(-30_000, 30_000).Draw(t, "clock"))
	}
	return clocks
}

// ahead reports whether at least half of the clocks show tick or more, as they
// do for a lower median.
func ahead(clocks []Tick, tick Tick) bool {
	n := 0
	for _, c := range clocks {
		if c >= tick {
			n++
		}
	}
	return slices.Contains(clocks, tick) && 2*n >= len(clocks)
}

// TestTimekeeperLimits: the limit of a jump, and values that no member sends.
func TestTimekeeperLimits(t *testing.T) {
	const now Tick = 1_800_000_000_000
	var k Timekeeper
	if next, _, v := k.Next(now, 0, []Tick{now.Add(JumpLimit)}, 1); next != now.Add(JumpLimit) || v.Jump != 0 {
		t.Errorf("a jump of just the limit: %d %+v", next-now, v)
	}
	if next, _, v := k.Next(now, 0, []Tick{now.Add(JumpLimit + 1)}, 1); next != now || !v.Held {
		t.Errorf("a jump over the limit: %d %+v", next-now, v)
	}
	// of a process that ran all the time
	for _, outage := range []time.Duration{time.Hour, 17 * time.Hour, 60 * 24 * time.Hour} {
		right := now.Add(SpanOf(outage))
		if next, _, v := k.Next(now, outage, []Tick{right}, 1); next != right || v.Held {
			t.Errorf("%v after the last raise: %v behind, %+v", outage, right.Sub(next).Duration(), v)
		}
		if next, _, v := k.Next(now, outage, []Tick{right.Add(JumpLimit + 1)}, 1); next > right || !v.Held {
			t.Errorf("%v after the last raise a jump over the limit: %d %+v", outage, next.Sub(right), v)
		}
	}
	if next, _, v := k.Next(0, time.Hour, nil, 1); next != 0 || v.Majority {
		t.Errorf("no time and no clocks: %d %+v", next, v)
	}
	if next, _, v := k.Next(now, 0, []Tick{now + 5}, 0); next != now || v.Majority {
		t.Errorf("no voters: %d %+v", next, v)
	}
	if next, _, _ := k.Next(math.MaxInt64, math.MaxInt64, []Tick{math.MinInt64}, 1); next < Latest {
		t.Errorf("overflow: %d", next)
	}
	if next, _, _ := k.Next(now, 0, []Tick{math.MaxInt64}, 1); next != now {
		t.Errorf("a clock at its end: %d", next)
	}
}
