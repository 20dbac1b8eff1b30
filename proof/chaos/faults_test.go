//go:build linux

package chaos

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// fault is one that happened.
type fault struct {
	kind       string
	target     string
	from, till time.Duration
}

// faults makes them happen.
type faults struct {
	w    *world
	rng  *rand.Rand // used by the loop alone
	long time.Duration

	healing sync.WaitGroup
	mu      sync.Mutex
	done    []fault // guarded by mu
	broken  []error // guarded by mu
}

// kinds are all the faults. Each kind comes once before any comes again.
var kinds = []struct {
	name   string
	member bool // of a member, else of a holder
	begin  func(f *faults, p *process) (heal func() error, err error)
}{
	{"kill -9 of a member", true, (*faults).kill},
	{"kill -9 of a holder", false, (*faults).kill},
	{"stop of a member", true, (*faults).stop},
	{"stop of a holder", false, (*faults).stop},
	{"two-way cut of a member", true, (*faults).cut},
	{"two-way cut of a holder", false, (*faults).cut},
	{"one-way cut of a member", true, (*faults).cutOneWay},
	{"one-way cut of a holder", false, (*faults).cutOneWay},
	{"cut between two members", true, (*faults).cutPair},
	{"loss at a member", true, (*faults).lose},
	{"loss at a holder", false, (*faults).lose},
	{"delay at a member", true, (*faults).delay},
	{"delay at a holder", false, (*faults).delay},
	{"narrow line of a member", true, (*faults).slow},
	{"narrow line of a holder", false, (*faults).slow},
	{"link down of a member", true, (*faults).unplug},
	{"link down of a holder", false, (*faults).unplug},
	{"clock step of a member", true, (*faults).stepClock},
	{"clock step of a member", true, (*faults).stepClock},
	{killAll, true, nil},
}

const killAll = "kill -9 of all members"

// membersAtOnce is how many members have a fault at the same time, but for a kill
// of all: with one more of the five, the majority would be gone most of the time.
const membersAtOnce = 2

// run makes faults happen for so long, one every so often, and returns when the
// last one is over.
func (f *faults) run(length, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	end := time.After(length)
	var bag []int
	for {
		select {
		case <-end:
			f.healing.Wait()
			return
		case <-tick.C:
		}
		if len(bag) == 0 {
			bag = f.rng.Perm(len(kinds))
		}
		if f.happen(bag[0]) {
			bag = bag[1:]
			continue
		}
		// Too many members have a fault just now: one of a holder comes first.
		ofHolder := func(k int) bool { return !kinds[k].member }
		if !slices.ContainsFunc(bag, ofHolder) {
			bag = append(bag, f.rng.Perm(len(kinds))...)
		}
		if i := slices.IndexFunc(bag, ofHolder); f.happen(bag[i]) {
			bag = slices.Delete(bag, i, i+1)
		}
	}
}

// happen starts a fault, and reports whether a process was available for it.
func (f *faults) happen(kind int) bool {
	k := kinds[kind]
	if k.name == killAll {
		return f.killAll()
	}
	p := f.choose(k.member)
	if p == nil {
		return false
	}
	began := history.Now()
	heal, err := k.begin(f, p)
	f.note(err)
	length := f.length()
	f.healing.Go(func() {
		<-time.After(length)
		if heal != nil {
			f.note(heal())
		}
		f.record(fault{kind: k.name, target: p.port, from: began, till: history.Now()})
		f.mu.Lock()
		defer f.mu.Unlock()
		p.busy = false
	})
	return true
}

// length is how long a fault lasts: some seconds, and one in ten far longer.
func (f *faults) length() time.Duration {
	least := 500 * time.Millisecond
	most := min(8*time.Second, f.long)
	if f.rng.IntN(10) == 0 {
		most = f.long
	}
	return least + time.Duration(f.rng.Int64N(int64(most-least)))
}

// choose takes a process that has no fault, and makes it have one.
func (f *faults) choose(member bool) *process {
	all := f.w.holders
	if member {
		all = f.w.members
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	idle := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p.busy })
	if len(idle) == 0 || member && len(all)-len(idle) >= membersAtOnce {
		return nil
	}
	p := idle[f.rng.IntN(len(idle))]
	p.busy = true
	return p
}

func (f *faults) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.broken = append(f.broken, err)
	}
}

func (f *faults) record(one fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, one)
}

func (f *faults) kill(p *process) (func() error, error) {
	p.kill()
	return p.start, nil
}

func (f *faults) stop(p *process) (func() error, error) {
	return func() error { return p.signal(syscall.SIGCONT) }, p.signal(syscall.SIGSTOP)
}

func (f *faults) cut(p *process) (func() error, error) {
	return f.w.net.drop(rule{at: p.end, way: out, share: 1}, rule{at: p.end, way: in, share: 1})
}

func (f *faults) cutOneWay(p *process) (func() error, error) {
	way := []direction{in, out}[f.rng.IntN(2)]
	return f.w.net.drop(rule{at: p.end, way: way, share: 1})
}

// cutPair cuts a member from one other; the rest sees both.
func (f *faults) cutPair(p *process) (func() error, error) {
	others := slices.DeleteFunc(slices.Clone(f.w.members), func(q *process) bool { return q == p })
	other := others[f.rng.IntN(len(others))]
	return f.w.net.drop(
		rule{at: p.end, way: out, peer: other.end, share: 1}, rule{at: p.end, way: in, peer: other.end, share: 1})
}

func (f *faults) lose(p *process) (func() error, error) {
	share := 0.05 + 0.35*f.rng.Float64()
	return f.w.net.drop(rule{at: p.end, way: out, share: share}, rule{at: p.end, way: in, share: share})
}

// delay is of up to a second and a half each packet.
func (f *faults) delay(p *process) (func() error, error) {
	least := time.Duration(1+f.rng.IntN(500)) * time.Millisecond
	return f.w.net.delay(p.end, least, 3*least)
}

func (f *faults) slow(p *process) (func() error, error) {
	return f.w.net.slow(p.end, 30_000+f.rng.IntN(200_000))
}

func (f *faults) unplug(p *process) (func() error, error) {
	return f.w.net.unplug(p.end)
}

// stepClock steps a wall clock to anything up to a day from the truth, where it stays.
func (f *faults) stepClock(p *process) (func() error, error) {
	const day = 24 * time.Hour
	return nil, p.setShift(time.Duration(f.rng.Int64N(int64(2*day))) - day)
}

// killAll kills every member and starts them again, one after the other. It is false
// while a member has a fault.
func (f *faults) killAll() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.w.members, func(p *process) bool { return p.busy }) {
		return false
	}
	for _, p := range f.w.members {
		p.busy = true
	}
	length := f.length() / 4
	f.healing.Go(func() {
		began := history.Now()
		for _, p := range f.w.members {
			p.kill()
		}
		<-time.After(length)
		for _, p := range f.w.members {
			f.note(p.start())
		}
		f.record(fault{kind: killAll, target: "all", from: began, till: history.Now()})
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, p := range f.w.members {
			p.busy = false
		}
	})
	return true
}

// verdict returns the faults in the order in which they began, and what went wrong
// in making them.
func (f *faults) verdict() ([]fault, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.done, func(a, b fault) int { return cmp.Compare(a.from, b.from) })
	return f.done, errors.Join(f.broken...)
}

// stoppedIn returns how long a holder was stopped within a time.
func stoppedIn(all []fault) func(holder string, from, till time.Duration) time.Duration {
	return func(holder string, from, till time.Duration) (sum time.Duration) {
		for _, one := range all {
			if one.kind == "stop of a holder" && one.target == holder {
				sum += max(0, min(till, one.till)-max(from, one.from))
			}
		}
		return sum
	}
}
