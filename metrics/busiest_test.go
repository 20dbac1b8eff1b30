package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestBusiestNeverGoesDown: whatever names come, go, begin again, are left out of a reading
// and change their rates, no count goes down, a series ends only after it stood still for as
// long as it is kept, and all series together have all IDs that were issued.
func TestBusiestNeverGoesDown(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		listedMax := 20 + rng.IntN(300)
		var b busiest
		now := time.Unix(1_800_000_000, 0)
		issued := map[string]counts{}
		var total counts
		shown, moved := map[string]counts{}, map[string]time.Time{}
		for step := range 400 {
			now = now.Add(15 * time.Second)
			for range rng.IntN(100) {
				name := fmt.Sprintf("s%03d", int(200*rng.Float64()*rng.Float64()))
				n := counts{uint64(rng.IntN(1 << (1 + (step/50)%10))), uint64(rng.IntN(2))}
				issued[name], total = issued[name].plus(n), total.plus(n)
			}
			if rng.IntN(20) == 0 {
				for name := range issued { // its handle is made again
					issued[name] = counts{}
					break
				}
			}
			series := b.update(now, total, listedUses(issued, listedMax))
			if len(series) > seriesMax+1 {
				t.Fatalf("seed %d: %d series", seed, len(series))
			}
			seen := map[string]bool{}
			var sum counts
			for _, s := range series {
				old, was := shown[s.name]
				if seen[s.name] || s.ids < old.ids && was || s.waits < old.waits && was {
					t.Fatalf("seed %d, step %d: %s from %v to %v, again %v", seed, step, s.name, old, s.counts, seen[s.name])
				}
				if s.counts != old {
					moved[s.name] = now
				}
				seen[s.name], shown[s.name], sum = true, s.counts, sum.plus(s.counts)
			}
			checkEnded(t, now, shown, moved, seen)
			if missing := less(total.ids, sum.plus(ended(b)).ids); missing != 0 || sum.ids > total.ids {
				t.Fatalf("seed %d, step %d: %d IDs in series, %d issued, %d missing", seed, step, sum.ids, total.ids, missing)
			}
		}
	}
}

// listedUses returns the first names of a reading, as many as it lists, the largest first.
func listedUses(issued map[string]counts, most int) (uses []use) {
	for name, n := range issued {
		uses = append(uses, use{name, n})
	}
	slices.SortFunc(uses, func(a, b use) int { return int(b.ids) - int(a.ids) })
	return uses[:min(len(uses), most)]
}

// checkEnded checks the series that are shown no longer.
func checkEnded(t *testing.T, now time.Time, shown map[string]counts, moved map[string]time.Time,
	seen map[string]bool) {
	t.Helper()
	for name := range shown {
		if seen[name] {
			continue
		}
		if still := now.Sub(moved[name]); still < time.Minute {
			t.Fatalf("the series of %s ended %v after it was counted in", name, still)
		}
		delete(shown, name)
	}
}

// ended returns the counts of series that are shown no longer.
func ended(b busiest) counts {
	out := b.given
	for _, s := range b.series {
		out = counts{out.ids - s.ids, out.waits - s.waits}
	}
	return out
}

// TestBusiestHaveSeries: the names with the most IDs of late have the series, and a name that
// becomes busy gets one from then on.
func TestBusiestHaveSeries(t *testing.T) {
	var b busiest
	now := time.Unix(1_800_000_000, 0)
	var uses []use
	var total counts
	for i := range busiestMax + 10 {
		n := counts{ids: uint64(1000 - i)}
		uses, total = append(uses, use{fmt.Sprintf("s%02d", i), n}), total.plus(n)
	}
	series := b.update(now, total, uses)
	if len(series) != busiestMax+1 || find(series, "s00") != 1000 || find(series, otherName) != 10*945+5 {
		t.Fatalf("%d series: %v", len(series), series)
	}
	late := &uses[busiestMax+5]
	late.ids, total.ids = late.ids+5000, total.ids+5000
	series = b.update(now.Add(time.Minute), total, uses)
	if got := find(series, late.name); got != 5000 {
		t.Errorf("a name that became busy has a series at %d, want 5000", got)
	}
	if got := find(series, otherName); got != 10*945+5 {
		t.Errorf("other went from %d to %d", 10*945+5, got)
	}
	if len(series) != busiestMax+2 {
		t.Errorf("%d series: the one that was displaced has to stay for a while", len(series))
	}
	b.update(now.Add(2*time.Hour), total, uses)
	if series = b.update(now.Add(2*time.Hour), total, uses); len(series) != busiestMax+1 {
		t.Errorf("%d series after two hours", len(series))
	}
}

// TestBusiestOther: a sequencer with the name of the rest counts there.
func TestBusiestOther(t *testing.T) {
	var b busiest
	series := b.update(time.Unix(1_800_000_000, 0), counts{ids: 7},
		[]use{{otherName, counts{ids: 4}}, {"orders", counts{ids: 3}}})
	if len(series) != 2 || find(series, otherName) != 4 || find(series, "orders") != 3 {
		t.Errorf("series %v", series)
	}
}

// TestBusiestOtherStands: a reading whose total is older than its names, since they were not
// read at the same moment, takes nothing from the others.
func TestBusiestOtherStands(t *testing.T) {
	var b busiest
	now := time.Unix(1_800_000_000, 0)
	b.update(now, counts{ids: 30}, []use{{"orders", counts{ids: 10}}})
	series := b.update(now.Add(time.Minute), counts{ids: 30}, []use{{"orders", counts{ids: 15}}})
	if find(series, "orders") != 15 || find(series, otherName) != 20 {
		t.Errorf("series %v", series)
	}
	series = b.update(now.Add(2*time.Minute), counts{ids: 40}, []use{{"orders", counts{ids: 15}}})
	if find(series, otherName) != 25 {
		t.Errorf("later series %v", series)
	}
}

// find returns the IDs of a series.
func find(series []use, name string) uint64 {
	i := slices.IndexFunc(series, func(u use) bool { return u.name == name })
	if i < 0 {
		return 0
	}
	return series[i].ids
}
