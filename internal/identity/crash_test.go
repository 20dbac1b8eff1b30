package identity

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// allocator is the grid's side: the rule of an application.
type allocator struct {
	next  uint64
	codes map[uint64]numbers.Code
	incs  map[uint64]uint64
}

func (a *allocator) apply(n Number) result {
	switch {
	case n.ID == a.next:
		a.codes[n.ID] = n.Code
		a.next++
	case a.codes[n.ID] != n.Code:
		return result{err: numbers.ErrIDRefused}
	}
	return result{}
}

func (a *allocator) register(n Number) result {
	if a.codes[n.ID] != n.Code {
		return result{err: numbers.ErrNotRegistered}
	}
	a.incs[n.ID]++
	return result{incarnation: a.incs[n.ID], again: time.Hour}
}

// process is one that crashes at any moment and starts again with its files.
type process struct {
	files   Files
	machine *machine
}

// do carries a step out, and reports whether the process is there to see the result.
func (p *process) do(a *allocator, s step, rng *rand.Rand) (result, bool) {
	none := errors.New("no answer")
	if s.action != wait && rng.IntN(8) == 0 {
		return result{}, false // it crashes before
	}
	var r result
	switch s.action {
	case askNext:
		r = result{next: a.next}
	case storeApplication:
		p.files.Application = new(s.number)
	case storeNumber:
		p.files.Number = new(s.number)
	case removeApplication:
		p.files.Application = nil
	case apply, register:
		if rng.IntN(4) == 0 {
			return result{err: none}, true // the request is lost
		}
		if s.action == apply {
			r = a.apply(s.number)
		} else {
			r = a.register(s.number)
		}
		if rng.IntN(4) == 0 {
			r = result{err: none} // the answer is lost
		}
	}
	return r, rng.IntN(8) > 0
}

// TestNoNumberIsLost: processes that start together, crash at any moment and lose requests
// and answers end with the numbers 1 to n, each with one.
func TestNoNumberIsLost(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a := &allocator{next: 1, codes: map[uint64]numbers.Code{}, incs: map[uint64]uint64{}}
		newCode := func() (c numbers.Code) {
			binary.BigEndian.PutUint64(c[:], rng.Uint64())
			return c
		}
		rand := func(below time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(below))) }
		processes := make([]*process, 1+rng.IntN(6))
		for i := range processes {
			processes[i] = &process{}
		}
		open := len(processes)
		for now, steps := time.Duration(0), 0; open > 0; now += 100 * time.Millisecond {
			if steps++; steps > 100_000 {
				t.Fatalf("seed %d: %d of %d processes have no number", seed, open, len(processes))
			}
			p := processes[rng.IntN(len(processes))]
			if p.machine == nil {
				p.machine = &machine{set: web, newCode: newCode, rand: rand}
				p.machine.begin(p.files)
			}
			if p.machine.state == Registered {
				continue
			}
			s := p.machine.step(now)
			if s.action == wait {
				continue
			}
			r, alive := p.do(a, s, rng)
			if !alive {
				p.machine = nil
				continue
			}
			p.machine.done(now, r)
			if p.machine.state == Registered {
				open--
			}
		}
		var ids []uint64
		for _, p := range processes {
			if p.files.Application != nil || p.files.Number == nil || *p.files.Number != p.machine.number {
				t.Fatalf("seed %d: files %+v of a process with number %v", seed, p.files, p.machine.number)
			}
			ids = append(ids, p.machine.storedNumber())
		}
		slices.Sort(ids)
		for i, id := range ids {
			if id != uint64(i+1) {
				t.Fatalf("seed %d: the numbers are %v", seed, ids)
			}
		}
		if a.next != uint64(len(ids)+1) {
			t.Fatalf("seed %d: the next number is %d after %v", seed, a.next, ids)
		}
	}
}
