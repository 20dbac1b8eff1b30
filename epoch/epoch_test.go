package epoch_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
)

func TestPresets(t *testing.T) {
	var zero epoch.Epoch
	for _, tc := range []struct {
		name string
		e    epoch.Epoch
		ms   int64
		text string
	}{
		{"zero value", zero, 1_767_225_600_000, "2026-01-01T00:00:00.000Z"},
		{"Default", epoch.Default, 1_767_225_600_000, "2026-01-01T00:00:00.000Z"},
		{"Twitter", epoch.Twitter, 1_288_834_974_657, "2010-11-04T01:42:54.657Z"},
		{"Discord", epoch.Discord, 1_420_070_400_000, "2015-01-01T00:00:00.000Z"},
		{"Unix", epoch.UnixMilli(0), 0, "1970-01-01T00:00:00.000Z"},
		{"before Unix", epoch.UnixMilli(-1), -1, "1969-12-31T23:59:59.999Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.e.UnixMilli(); got != tc.ms {
				t.Errorf("UnixMilli() = %d, want %d", got, tc.ms)
			}
			if got := epoch.UnixMilli(tc.ms); got != tc.e {
				t.Errorf("UnixMilli(%d) = %d, want %d", tc.ms, got, tc.e)
			}
			if got := tc.e.String(); got != tc.text {
				t.Errorf("String() = %q, want %q", got, tc.text)
			}
		})
	}
}

func TestAtIgnoresLocationAndCutsTowardsThePast(t *testing.T) {
	zone := time.FixedZone("UTC+2", 2*60*60)
	for _, tc := range []struct {
		name string
		at   time.Time
		want epoch.Epoch
	}{
		{"another location", time.Date(2026, time.January, 1, 2, 0, 0, 0, zone), epoch.Default},
		{"just below a millisecond", time.Date(2026, time.January, 1, 0, 0, 0, 999_999, time.UTC), epoch.Default},
		{"one millisecond", time.Date(2026, time.January, 1, 0, 0, 0, 1_000_000, time.UTC), 1},
		{"just before the origin", time.Date(2025, time.December, 31, 23, 59, 59, 999_999_999, time.UTC), -1},
		{"just before 1970", time.Unix(0, -1), epoch.UnixMilli(-1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := epoch.At(tc.at); got != tc.want {
				t.Errorf("At(%v) = %d, want %d", tc.at, got, tc.want)
			}
		})
	}
}

func TestTimeIsUTC(t *testing.T) {
	want := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	if got := epoch.Default.Time(); got != want {
		t.Errorf("Time() = %v, want %v", got, want)
	}
}

func TestConversionsStopAtTheEndsOfTheRange(t *testing.T) {
	if got := epoch.UnixMilli(math.MinInt64); got != math.MinInt64 {
		t.Errorf("UnixMilli(smallest) = %d, want the smallest Epoch", got)
	}
	if got := epoch.Epoch(math.MaxInt64).UnixMilli(); got != math.MaxInt64 {
		t.Errorf("largest.UnixMilli() = %d, want the largest int64", got)
	}
}

func TestConversionsKeepOrderAndRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64().Draw(t, "a")
		b := rapid.Int64().Draw(t, "b")
		if a <= b && epoch.UnixMilli(a) > epoch.UnixMilli(b) {
			t.Fatalf("UnixMilli turned %d <= %d around", a, b)
		}
		if a <= b && epoch.Epoch(a).UnixMilli() > epoch.Epoch(b).UnixMilli() {
			t.Fatalf("Epoch.UnixMilli turned %d <= %d around", a, b)
		}
		ms := rapid.Int64Range(-1<<52, 1<<52).Draw(t, "ms")
		if got := epoch.UnixMilli(ms).UnixMilli(); got != ms {
			t.Fatalf("UnixMilli(%d).UnixMilli() = %d", ms, got)
		}
		if e := epoch.UnixMilli(ms); epoch.At(e.Time()) != e {
			t.Fatalf("At(Time()) of %d = %d", e, epoch.At(e.Time()))
		}
	})
}
