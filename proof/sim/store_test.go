package sim_test

import (
	"io"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/proof/sim"
)

// storeTime is the duration of faults in one store's run. storesForAll runs include every kind of
// fault.
const (
	storeTime    = 5 * time.Minute
	storesForAll = 30
)

// TestStoreSeeds simulates the holders of many stores.
func TestStoreSeeds(t *testing.T) {
	t.Parallel()
	seeds := *seedsFlag
	if seeds == 0 {
		if seeds = long.Or(storesForAll, 80); testing.Short() {
			seeds = seedsShort
		}
	}
	first := *firstFlag
	if *seedFlag != 0 {
		first, seeds = *seedFlag, 1
	}
	var sum sim.StoreResult
	lossy := 0
	for seed := first; seed < first+uint64(seeds); seed++ {
		cfg := sim.DrawStore(seed, storeTime)
		r := sim.RunStore(cfg, nil)
		if r.Err != nil {
			t.Fatalf("seed %d: %v\n%+v\nplay it again: go test -C proof ./sim -run TestStoreSeeds -seed %d", seed,
				r.Err, cfg, seed)
		}
		if cfg.Lossy {
			lossy++
		}
		sum.IDs += r.IDs
		sum.Grants += r.Grants
		sum.Length += r.Length
		sum.Faults += r.Faults
		sum.Takes += r.Takes
		sum.Lost += r.Lost
		sum.Returned += r.Returned
		sum.Destroyed += r.Destroyed
		sum.Deleted += r.Deleted
		sum.Retired += r.Retired
		sum.Replaced += r.Replaced
	}
	t.Logf("%d stores, %d of them lossy, %.1f hours, %d faults, %d IDs checked, %d grants checked", seeds, lossy,
		sum.Length.Hours(), sum.Faults, sum.IDs, sum.Grants)
	t.Logf(
		"%d takes begun, %d records lost, %d returned, %d destroys, %d records deleted, %d retired or restored, %d failovers",
		sum.Takes, sum.Lost, sum.Returned, sum.Destroyed, sum.Deleted, sum.Retired, sum.Replaced)
	if seeds >= storesForAll && (sum.IDs == 0 || sum.Lost == 0 || sum.Returned == 0 || sum.Destroyed == 0 ||
		sum.Deleted == 0 || sum.Retired == 0 || sum.Replaced == 0) {
		t.Error("something never happened: this shows nothing")
	}
}

// TestStoreReplay simulates stores twice: equal seeds must result in equal traces.
func TestStoreReplay(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		cfg := sim.DrawStore(seed, time.Minute)
		if one, two := sim.RunStore(cfg, nil), sim.RunStore(cfg, io.Discard); one.Hash != two.Hash {
			t.Errorf("seed %d: two runs differ: %x and %x", seed, one.Hash, two.Hash)
		}
	}
}
