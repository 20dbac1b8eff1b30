package metric

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
		var b Busiest
		now := time.Unix(1_800_000_000, 0)
		issued := map[string]Counts{}
		var total Counts
		shown, moved := map[string]Counts{}, map[string]time.Time{}
		for step := range 400 {
			now = now.Add(15 * time.Second)
			for range rng.IntN(100) {
				name := fmt.Sprintf("s%03d", int(200*rng.Float64()*rng.Float64()))
				n := Counts{uint64(rng.IntN(1 << (1 + (step/50)%10))), uint64(rng.IntN(2))}
				issued[name], total = issued[name].plus(n), total.plus(n)
			}
			if rng.IntN(20) == 0 {
				for name := range issued { // its handle is made again
					issued[name] = Counts{}
					break
				}
			}
			series := b.Update(now, total, listedUses(issued, listedMax))
			if len(series) > seriesMax+1 {
				t.Fatalf("seed %d: %d series", seed, len(series))
			}
			seen := map[string]bool{}
			var sum Counts
			for _, s := range series {
				old, was := shown[s.Name]
				if seen[s.Name] || s.IDs < old.IDs && was || s.Waits < old.Waits && was {
					t.Fatalf("seed %d, step %d: %s from %v to %v, again %v", seed, step, s.Name, old, s.Counts, seen[s.Name])
				}
				if s.Counts != old {
					moved[s.Name] = now
				}
				seen[s.Name], shown[s.Name], sum = true, s.Counts, sum.plus(s.Counts)
			}
			checkEnded(t, now, shown, moved, seen)
			if missing := less(total.IDs, sum.plus(ended(b)).IDs); missing != 0 || sum.IDs > total.IDs {
				t.Fatalf("seed %d, step %d: %d IDs in series, %d issued, %d missing", seed, step, sum.IDs, total.IDs, missing)
			}
		}
	}
}

// listedUses returns the first names of a reading, as many as it lists, the largest first.
func listedUses(issued map[string]Counts, most int) (uses []Use) {
	for name, n := range issued {
		uses = append(uses, Use{name, n})
	}
	slices.SortFunc(uses, func(a, b Use) int { return int(b.IDs) - int(a.IDs) })
	return uses[:min(len(uses), most)]
}

// checkEnded checks the series that are shown no longer.
func checkEnded(t *testing.T, now time.Time, shown map[string]Counts, moved map[string]time.Time,
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
func ended(b Busiest) Counts {
	out := b.given
	for _, s := range b.series {
		out = Counts{out.IDs - s.IDs, out.Waits - s.Waits}
	}
	return out
}

// TestBusiestHaveSeries: the names with the most IDs of late have the series, and a name that
// becomes busy gets one from then on.
func TestBusiestHaveSeries(t *testing.T) {
	var b Busiest
	now := time.Unix(1_800_000_000, 0)
	var uses []Use
	var total Counts
	for i := range busiestMax + 10 {
		n := Counts{IDs: uint64(1000 - i)}
		uses, total = append(uses, Use{fmt.Sprintf("s%02d", i), n}), total.plus(n)
	}
	series := b.Update(now, total, uses)
	if len(series) != busiestMax+1 || find(series, "s00") != 1000 || find(series, OtherName) != 10*945+5 {
		t.Fatalf("%d series: %v", len(series), series)
	}
	late := &uses[busiestMax+5]
	late.IDs, total.IDs = late.IDs+5000, total.IDs+5000
	series = b.Update(now.Add(time.Minute), total, uses)
	if got := find(series, late.Name); got != 5000 {
		t.Errorf("a name that became busy has a series at %d, want 5000", got)
	}
	if got := find(series, OtherName); got != 10*945+5 {
		t.Errorf("other went from %d to %d", 10*945+5, got)
	}
	if len(series) != busiestMax+2 {
		t.Errorf("%d series: the one that was displaced has to stay for a while", len(series))
	}
	b.Update(now.Add(2*time.Hour), total, uses)
	if series = b.Update(now.Add(2*time.Hour), total, uses); len(series) != busiestMax+1 {
		t.Errorf("%d series after two hours", len(series))
	}
}

// TestBusiestOther: a sequencer with the name of the rest counts there.
func TestBusiestOther(t *testing.T) {
	var b Busiest
	series := b.Update(time.Unix(1_800_000_000, 0), Counts{IDs: 7},
		[]Use{{OtherName, Counts{IDs: 4}}, {"orders", Counts{IDs: 3}}})
	if len(series) != 2 || find(series, OtherName) != 4 || find(series, "orders") != 3 {
		t.Errorf("series %v", series)
	}
}

// TestBusiestOtherStands: a reading whose total is older than its names, since they were not
// read at the same moment, takes nothing from the others.
func TestBusiestOtherStands(t *testing.T) {
	var b Busiest
	now := time.Unix(1_800_000_000, 0)
	b.Update(now, Counts{IDs: 30}, []Use{{"orders", Counts{IDs: 10}}})
	series := b.Update(now.Add(time.Minute), Counts{IDs: 30}, []Use{{"orders", Counts{IDs: 15}}})
	if find(series, "orders") != 15 || find(series, OtherName) != 20 {
		t.Errorf("series %v", series)
	}
	series = b.Update(now.Add(2*time.Minute), Counts{IDs: 40}, []Use{{"orders", Counts{IDs: 15}}})
	if find(series, OtherName) != 25 {
		t.Errorf("later series %v", series)
	}
}

// find returns the IDs of a series.
func find(series []Use, name string) uint64 {
	i := slices.IndexFunc(series, func(u Use) bool { return u.Name == name })
	if i < 0 {
		return 0
	}
	return series[i].IDs
}
