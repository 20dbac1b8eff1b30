//go:build linux

package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var (
	chaosFor   = flag.Duration("chaos-for", defaultChaos, "how long faults happen")
	seed       = flag.Uint64("seed", 0, "seed of the faults; 0 takes one")
	reportFile = flag.String("report", "",
		"file for the report; left out: one in the test's temporary directory, which is printed")
	idsMin    = flag.Uint64("ids-min", 1, "IDs that there have to be at least")
	secure    = flag.Bool("secure", false, "with security on: certificates of an authority of the test, and a gossip key")
	faultsMin = flag.Int("faults-min", 1, "faults that there have to be at least")
)

// searchMax is how long the search for an explanation of one name may take.
const searchMax = time.Minute

// TestChaos is the proof.
func TestChaos(t *testing.T) {
	const members, holders = 5, 20
	every, longest := 2*time.Second, 15*time.Second
	if *chaosFor >= 5*time.Minute {
		every, longest = 3*time.Second, time.Minute
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d", *seed)
	w := newWorld(t, members, holders, *seed)
	f := &faults{w: w, rng: rand.New(rand.NewPCG(*seed, 0)), long: longest}
	began := time.Now()
	f.run(*chaosFor, every)
	t.Logf("faults were over after %v", time.Since(began).Round(time.Second))
	stuck := w.finish()
	j := w.judge(f)
	j.stuck = stuck
	j.seed, j.length = *seed, *chaosFor
	text := j.report()
	file := *reportFile
	if file == "" {
		file = filepath.Join(t.TempDir(), "chaos.md")
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
	t.Logf("report in %s:\n%s", file, text)
	for _, complaint := range j.complaints() {
		t.Error(complaint)
	}
	if j.ids.ids < *idsMin || len(j.faults) < *faultsMin {
		t.Errorf("%d IDs and %d faults, required are %d and %d",
			j.ids.ids, len(j.faults), *idsMin, *faultsMin)
	}
}

// TestSeesRepeatedID runs a grid in which one holder notes one ID twice, and
// wants the checker to find exactly that.
func TestSeesRepeatedID(t *testing.T) {
	w := newWorld(t, 1, 2, 1)
	w.holders[1].kill()
	args := w.holders[1].args
	w.holders[1].args = func(p *process) []string { return append(args(p), "-repeat-an-id") }
	w.startAll(w.holders[1:])
	awaitBatches(t, w.holders[1])
	if err := w.finish(); err != nil {
		t.Error(err)
	}
	j := w.judge(&faults{w: w})
	if j.ids.duplicates != 1 || j.ids.disorder != 1 || j.ids.ids == 0 {
		t.Errorf("found %d duplicates and %d out of order in %d IDs, want 1 and 1", j.ids.duplicates,
			j.ids.disorder, j.ids.ids)
	}
	if len(j.complaints()) == 0 {
		t.Error("the report has no complaint")
	}
}

// awaitBatches waits until a holder has noted IDs.
func awaitBatches(t *testing.T, p *process) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		starts, err := p.histories()
		if err != nil {
			t.Fatal(err)
		}
		if checkIDs([]holderRun{{ops: starts[len(starts)-1]}}).ids > 0 {
			return
		}
	}
	t.Fatalf("%s has no IDs after %v", p.port, patience)
}
