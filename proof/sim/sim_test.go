package sim_test

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/proof/sim"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "play this seed alone")
	seedsFlag = flag.Int("seeds", 0, "play that many seeds; 0 for the usual number")
	hoursFlag = flag.Float64("hours", 0, "play seeds until that many hours of virtual time are over")
	firstFlag = flag.Uint64("first", 1, "the first of the seeds")
	traceFlag = flag.String("tracefile", "", "with -seed: write what happened to this file")
)

// seedsShort is the number of seeds with -short.
const seedsShort = 5

// gridTime is the duration of faults in one grid.
const gridTime = 870 * time.Second

// total adds up the results of runs.
type total struct {
	runs int
	time time.Duration
	sum  sim.Counts
}

func (t *total) add(r sim.Result) {
	t.runs++
	t.time += r.Length
	t.sum.IDs += r.IDs
	t.sum.Grants += r.Grants
	t.sum.Takes += r.Takes
	t.sum.Losses += r.Losses
	t.sum.Joins += r.Joins
	t.sum.Admits += r.Admits
	t.sum.Stops += r.Stops
	t.sum.Expired += r.Expired
	t.sum.Destroyed += r.Destroyed
	t.sum.Elections += r.Elections
	t.sum.Protocols += r.Protocols
	t.sum.Writes += r.Writes
	t.sum.Collected += r.Collected
	t.sum.Candidacies += r.Candidacies
	t.sum.Stood += r.Stood
	t.sum.Copies += r.Copies
	t.sum.Forgotten += r.Forgotten
	t.sum.Recovered += r.Recovered
	t.sum.Initialized += r.Initialized
	t.sum.Generated += r.Generated
	t.sum.Replaced += r.Replaced
	for i, n := range r.Faults {
		t.sum.Faults[i] += n
	}
}

func (t *total) report(log func(string, ...any)) {
	faults := 0
	for i, n := range t.sum.Faults {
		faults += n
		log("%8d  %s", n, sim.FaultName(i))
	}
	log("%d grids, %.1f hours, %d faults, %d IDs checked, %d grants checked", t.runs, t.time.Hours(), faults, t.sum.IDs,
		t.sum.Grants)
	log("%d takeovers, %d losses, %d joins of replicas, %d admitted, %d clean stops, %d elections", t.sum.Takes,
		t.sum.Losses,
		t.sum.Joins, t.sum.Admits, t.sum.Stops, t.sum.Elections)
	log("%d attachments expired, %d lives destroyed, %d changes of the protocol", t.sum.Expired, t.sum.Destroyed,
		t.sum.Protocols)
	log("%d writes of definitions, %d tables collected from a disk", t.sum.Writes, t.sum.Collected)
	log("%d IDs of generators under grants over HTTP, %d of their logical nodes replaced", t.sum.Generated, t.sum.Replaced)
	log("%d grids recovered from directories, %d formed by survivors", t.sum.Recovered, t.sum.Initialized)
	log("%d candidacies, %d voters stood for election; %d copies refused, %d disks given up", t.sum.Candidacies,
		t.sum.Stood, t.sum.Copies, t.sum.Forgotten)
}

// TestSeeds simulates many grids.
func TestSeeds(t *testing.T) {
	t.Parallel()
	if *seedFlag != 0 {
		playOne(t, *seedFlag)
		return
	}
	seeds := *seedsFlag
	if seeds == 0 && *hoursFlag == 0 {
		seeds = seedsDefault()
		if testing.Short() {
			seeds = min(seeds, seedsShort)
		}
	}
	var sum total
	for n := uint64(0); ; n++ {
		if seeds > 0 && n == uint64(seeds) || seeds == 0 && sum.time.Hours() >= *hoursFlag {
			break
		}
		seed := *firstFlag + n
		r := sim.Run(sim.Draw(seed, gridTime), nil)
		sum.add(r)
		if r.Err != nil {
			t.Errorf("seed %d: %v\nplay it again: go test -C proof ./sim -run TestSeeds -seed %d -v -tracefile /tmp/seed-%d.txt",
				seed, r.Err, seed, seed)
			break
		}
		if n%1000 == 999 {
			t.Logf("%d grids, %.0f hours so far", n+1, sum.time.Hours())
		}
	}
	sum.report(t.Logf)
}

func playOne(t *testing.T, seed uint64) {
	var out io.Writer
	if *traceFlag != "" {
		file, err := os.Create(*traceFlag)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		out = file
	}
	cfg := sim.Draw(seed, gridTime)
	t.Logf("%+v", cfg)
	r := sim.Run(cfg, out)
	var sum total
	sum.add(r)
	sum.report(t.Logf)
	if r.Err != nil {
		t.Error(r.Err)
	}
}

// TestReplay simulates grids twice: equal seeds must result in equal traces.
func TestReplay(t *testing.T) {
	hashes := map[uint64]uint64{}
	for seed := uint64(1); seed <= long.Or[uint64](4, 10); seed++ {
		cfg := sim.Draw(seed, 3*time.Minute)
		one, two := sim.Run(cfg, nil), sim.Run(cfg, io.Discard)
		if one.Hash != two.Hash {
			t.Errorf("seed %d: two runs differ: %x and %x", seed, one.Hash, two.Hash)
		}
		if other, found := hashes[one.Hash]; found {
			t.Errorf("seeds %d and %d have one trace", seed, other)
		}
		hashes[one.Hash] = seed
	}
}

// TestBaselines simulates the same schedules with simpler rules, which issue equal IDs.
func TestBaselines(t *testing.T) {
	for name, baseline := range map[string]sim.Baseline{"count of members": sim.Quorum, "immediate reuse": sim.Reuse} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 50; seed++ {
				cfg := sim.Draw(seed, gridTime)
				cfg.Baseline = baseline
				if r := sim.Run(cfg, nil); r.Err != nil {
					t.Logf("seed %d: %v", seed, fmt.Errorf("as it must be: %w", r.Err))
					return
				}
			}
			t.Error("50 grids made no two equal IDs")
		})
	}
}

// TestAnchoredSeeds simulates grids with an anchor: requests to its store and replies are lost or
// late, it is unreachable for a while, and a rival takes it.
func TestAnchoredSeeds(t *testing.T) {
	t.Parallel()
	seeds := max(*seedsFlag, long.Or(5, 10))
	var sum total
	for n := range uint64(seeds) {
		seed := *firstFlag + n
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		cfg := sim.Draw(seed, gridTime)
		cfg.Anchored = true
		r := sim.Run(cfg, tracer(t))
		sum.add(r)
		if r.Err != nil {
			t.Errorf("seed %d: %v\nplay it again: go test -C proof ./sim -run TestAnchoredSeeds -seed %d -v -tracefile "+
				"/tmp/seed-%d.txt", seed, r.Err, seed, seed)
			break
		}
		if *seedFlag != 0 {
			break
		}
	}
	sum.report(t.Logf)
}

// TestRecoveredSeeds simulates grids that permanently lose a majority of their voters, at most
// twice. They are recovered from the remaining directories, or formed again by the remaining
// members. Every fifth is anchored.
func TestRecoveredSeeds(t *testing.T) {
	t.Parallel()
	seeds := cmp.Or(*seedsFlag, long.Or(6, 10))
	var sum total
	for n := range uint64(seeds) {
		seed := *firstFlag + n
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		cfg := sim.Draw(seed, gridTime)
		cfg.Recoveries, cfg.Anchored = 2, seed%5 == 0
		r := sim.Run(cfg, tracer(t))
		sum.add(r)
		if r.Err != nil {
			t.Errorf("seed %d: %v\nplay it again: go test -C proof ./sim -run TestRecoveredSeeds -seed %d -v -tracefile "+
				"/tmp/seed-%d.txt", seed, r.Err, seed, seed)
			break
		}
		if *seedFlag != 0 {
			break
		}
	}
	sum.report(t.Logf)
	if seeds > 4 && *seedFlag == 0 && !t.Failed() && (sum.sum.Recovered == 0 || sum.sum.Initialized == 0) {
		t.Errorf("%d grids recovered from directories and %d formed by survivors; both have to happen", sum.sum.Recovered,
			sum.sum.Initialized)
	}
}

// TestGeneratorSeeds simulates grids that serve grants to generators, beside their holders. Some grids are
// anchored, and some lose a majority of their voters for good.
func TestGeneratorSeeds(t *testing.T) {
	t.Parallel()
	seeds := cmp.Or(*seedsFlag, long.Or(5, 10))
	var sum total
	for n := range uint64(seeds) {
		seed := *firstFlag + n
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		cfg := sim.Draw(seed, gridTime)
		cfg.Generators = 2 + int(seed%7)
		cfg.Anchored = seed%5 == 0
		if seed%5 == 1 {
			cfg.Recoveries = 2
		}
		r := sim.Run(cfg, tracer(t))
		sum.add(r)
		if r.Err != nil {
			t.Errorf("seed %d: %v\nplay it again: go test -C proof ./sim -run TestGeneratorSeeds -seed %d -v -tracefile "+
				"/tmp/seed-%d.txt", seed, r.Err, seed, seed)
			break
		}
		if *seedFlag != 0 {
			break
		}
	}
	sum.report(t.Logf)
	if seeds > 4 && *seedFlag == 0 && !t.Failed() && (sum.sum.Generated < 100_000 || sum.sum.Replaced == 0) {
		t.Errorf("%d IDs of generators, %d logical nodes replaced", sum.sum.Generated, sum.sum.Replaced)
	}
}

// tracer returns the file for the trace of a single seed, nil without one.
func tracer(t *testing.T) io.Writer {
	if *traceFlag == "" || *seedFlag == 0 {
		return nil
	}
	file, err := os.Create(*traceFlag)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}
