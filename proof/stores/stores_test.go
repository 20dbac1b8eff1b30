package stores

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/faultproxy"
)

var (
	runFor  = flag.Duration("for", 6*time.Second, "how long each store has faults")
	idsMin  = flag.Int64("ids-min", 0, "the fewest IDs of all stores together")
	report  = flag.String("report", "", "file for a report in Markdown")
	seed    = flag.Uint64("seed", 1, "seed of the faults")
	long    = flag.Bool("long", false, "every test over every store")
	onlyOne = flag.String("store", "", "run over this store only")
)

// The load of one store: more holders than records, so that each record that becomes free
// or expires is taken by another holder.
const (
	window  = time.Second
	slots   = 8
	tuned   = 10 // holders whose clocks agree within seconds
	shifted = 4  // holders of another sequencer, with clocks far apart
)

// clocks are those of the first holders; the others are right. A record that one whose clock
// is ahead returns may be taken by one whose clock is behind, and one whose clock is ahead
// takes records that their holders still use.
var clocks = []time.Duration{-3 * time.Second, -time.Second, time.Second, 3 * time.Second, 30 * time.Millisecond,
	-30 * time.Millisecond}

// shifts are the clocks of the holders of the second sequencer.
var shifts = [shifted]time.Duration{0, time.Hour, -time.Hour, 10 * time.Minute}

// TestStores issues IDs over each store under faults and compares them all.
func TestStores(t *testing.T) {
	var rows []row
	for _, e := range engines {
		if *onlyOne != "" && *onlyOne != e.name {
			continue
		}
		t.Run(e.name, func(t *testing.T) { rows = append(rows, storm(t, e)) })
	}
	var ids int64
	for _, r := range rows {
		ids += r.ids.ids
	}
	if ids < *idsMin {
		t.Errorf("%d IDs of all stores, fewer than %d", ids, *idsMin)
	}
	if *report != "" {
		if err := os.WriteFile(*report, []byte(table(rows)), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// row is one store's line of the report.
type row struct {
	name      string
	took      time.Duration
	ids       verdict
	processes int
	faults    map[string]int
	lost      int // answers
}

// storm runs faults over one store.
func storm(t *testing.T, e engine) row {
	s := startSite(t, e)
	holders := s.crowd("100")
	var apart []*holder
	for i, shift := range shifts {
		h := s.newHolder(fmt.Sprintf("shifted%d", i),
			append([]string{"-name", "apart", "-pool", "64", "-clock", shift.String(), "-every", "50ms"}, common...)...)
		if e.dated {
			h.args = append(h.args, "-skew", "3h") // else the store refuses the clock: see TestWrongClockIsRefused
		}
		apart = append(apart, h)
	}
	all := append(append([]*holder(nil), holders...), apart...)
	for _, h := range all {
		h.start()
	}
	began := time.Now()
	f := &faults{site: s, holders: all, rng: rand.New(rand.NewPCG(*seed, 7)), done: map[string]int{}}
	for time.Since(began) < *runFor {
		f.one()
	}
	f.heal()
	finish(t, holders, slots)
	finish(t, apart, 0)

	r := row{name: e.name, took: time.Since(began).Round(time.Second), faults: f.done}
	r.ids = compare(holders)
	r.ids.judge(t, 1_000_000)
	second := compare(apart)
	second.judge(t, 1)
	r.ids.ids += second.ids
	for _, h := range all {
		r.processes += h.starts
		if h.proxy != nil {
			r.lost += h.proxy.Lost()
		}
	}
	t.Logf("%s: %d IDs of %d processes in %v, %d answers lost, faults %v", e.name, r.ids.ids, r.processes, r.took,
		r.lost, f.done)
	return r
}

// common are the flags of every holder under faults.
var common = []string{"-window", window.String(), "-patience", "60s", "-create", "5s"}

// crowd makes the holders of the first sequencer, which detach and attach after one batch
// in so many.
func (s *site) crowd(detach string) (holders []*holder) {
	for i := range tuned {
		clock := time.Duration(0)
		if i < len(clocks) {
			clock = clocks[i]
		}
		h := s.newHolder(fmt.Sprintf("h%d", i), append([]string{"-name", "default", "-pool", fmt.Sprint(slots), "-clock",
			clock.String(), "-detach", detach}, common...)...)
		if i%3 == 0 {
			h.args = append(h.args, "-next")
		}
		holders = append(holders, h)
	}
	return holders
}

// finish ends all holders. At least a number of them get IDs after the last fault.
func finish(t *testing.T, holders []*holder, atLeast int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var all sync.WaitGroup
	results := make(chan error, len(holders))
	for _, h := range holders {
		all.Go(func() { results <- h.finish(ctx) })
	}
	all.Wait()
	close(results)
	ended := 0
	var failures []string
	for err := range results {
		if err == nil {
			ended++
		} else {
			failures = append(failures, err.Error())
		}
	}
	if ended < atLeast {
		t.Errorf("%d of %d holders got IDs after the last fault; the others:\n%s", ended, len(holders),
			strings.Join(failures, "\n\n"))
	}
}

// faults chooses faults by a seed and carries them out, one at a time.
type faults struct {
	*site
	holders []*holder
	rng     *rand.Rand
	deck    []fault // the next ones
	done    map[string]int
}

// fault is one kind of fault; run returns when it is over.
type fault struct {
	name string
	run  func()
}

// kinds returns every kind of fault, the ones of holders first, some of them twice.
func (f *faults) kinds() []fault {
	all := []fault{
		{"holder killed", f.killHolder}, {"holder killed", f.killHolder},
		{"holder stopped", f.stopHolder}, {"holder stopped", f.stopHolder},
	}
	if f.server == nil {
		return all
	}
	way := func(w faultproxy.Fault) func() { return func() { f.disturb(w) } }
	return append(all,
		fault{"connections cut", way(faultproxy.Fault{Cut: true})},
		fault{"connections held", way(faultproxy.Fault{Hang: true})},
		fault{"answers lost", way(faultproxy.Fault{Lose: 0.5})},
		fault{"answers lost", way(faultproxy.Fault{Lose: 1})},
		fault{"answers delayed", way(faultproxy.Fault{Delay: window / 2})},
		fault{"server killed", f.killServer},
		fault{"server stopped", f.stopServer},
	)
}

// one carries out one fault. Each kind has its turn before one comes again.
func (f *faults) one() {
	if len(f.deck) == 0 {
		f.deck = f.kinds()
		f.rng.Shuffle(len(f.deck), func(i, j int) { f.deck[i], f.deck[j] = f.deck[j], f.deck[i] })
	}
	next := f.deck[0]
	f.deck = f.deck[1:]
	f.done[next.name]++
	next.run()
	f.pause(0, window/2)
}

// pause lets the load run under the present state.
func (f *faults) pause(least, most time.Duration) {
	time.Sleep(least + time.Duration(f.rng.Int64N(int64(most-least)+1)))
}

func (f *faults) some() *holder { return f.holders[f.rng.IntN(len(f.holders))] }

func (f *faults) killHolder() {
	h := f.some()
	h.kill()
	if f.rng.IntN(2) == 0 {
		f.pause(0, 2*window) // another holder takes its record
	}
	h.start()
}

// stopHolder stops a process for up to three windows.
func (f *faults) stopHolder() {
	h := f.some()
	h.signal(syscall.SIGSTOP)
	f.pause(window/2, 3*window)
	h.signal(syscall.SIGCONT)
}

// disturb sets a fault on the way of one holder, or of all, for up to two windows.
func (f *faults) disturb(way faultproxy.Fault) {
	chosen := []*holder{f.some()}
	if f.rng.IntN(2) == 0 {
		chosen = f.holders
	}
	for _, h := range chosen {
		h.proxy.Set(way)
	}
	f.pause(window/4, 2*window)
	for _, h := range chosen {
		h.proxy.Set(faultproxy.Fault{})
	}
}

func (f *faults) killServer() {
	f.server.Kill()
	f.pause(0, 2*window)
	f.server.Restart()
}

func (f *faults) stopServer() {
	f.server.Signal(syscall.SIGSTOP)
	f.pause(window/4, 2*window)
	f.server.Signal(syscall.SIGCONT)
}

// heal ends every fault.
func (f *faults) heal() {
	for _, h := range f.holders {
		if h.proxy != nil {
			h.proxy.Set(faultproxy.Fault{})
		}
	}
}

// table returns the report.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| store | time | processes | faults | answers lost | IDs | IDs twice | IDs out of order " +
		"|\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		faults := 0
		for _, n := range r.faults {
			faults += n
		}
		fmt.Fprintf(&b, "| %s | %v | %d | %d | %d | %d | %d | %d |\n", r.name, r.took, r.processes, faults, r.lost, r.ids.ids,
			r.ids.duplicates, r.ids.disorder)
	}
	return b.String()
}
