package registration

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// allocator is the grid's side: the rule of an application.
type allocator struct {
	next  uint64
	codes map[uint64]roster.Code
	incs  map[uint64]uint64
}

func (a *allocator) apply(n Number) Result {
	switch {
	case n.ID == a.next:
		a.codes[n.ID] = n.Code
		a.next++
	case a.codes[n.ID] != n.Code:
		return Result{Err: errors.New("refused"), Refusal: Taken}
	}
	return Result{}
}

func (a *allocator) register(n Number) Result {
	if a.codes[n.ID] != n.Code {
		return Result{Err: errors.New("unknown"), Refusal: Unknown}
	}
	a.incs[n.ID]++
	return Result{Incarnation: a.incs[n.ID], Again: time.Hour}
}

// process is one that crashes at any moment and starts again with its files.
type process struct {
	files   Files
	machine *Machine
}

// do carries a step out, and reports whether the process is there to see the result.
func (p *process) do(a *allocator, s Step, rng *rand.Rand) (Result, bool) {
	none := errors.New("no answer")
	if s.Action != Wait && rng.IntN(8) == 0 {
		return Result{}, false // it crashes before
	}
	var r Result
	switch s.Action {
	case AskNext:
		r = Result{Next: a.next}
	case WriteTemp:
		p.files.Temp = new(s.Number)
	case WriteFinal:
		p.files.Final = new(s.Number)
	case RemoveTemp:
		p.files.Temp = nil
	case Apply, Register:
		if rng.IntN(4) == 0 {
			return Result{Err: none}, true // the request is lost
		}
		if s.Action == Apply {
			r = a.apply(s.Number)
		} else {
			r = a.register(s.Number)
		}
		if rng.IntN(4) == 0 {
			r = Result{Err: none} // the answer is lost
		}
	}
	return r, rng.IntN(8) > 0
}

// TestNoNumberIsLost: processes that start together, crash at any moment and lose requests
// and answers end with the numbers 1 to n, each with one.
func TestNoNumberIsLost(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a := &allocator{next: 1, codes: map[uint64]roster.Code{}, incs: map[uint64]uint64{}}
		cfg := Config{
			Set: web,
			NewCode: func() (c roster.Code) {
				binary.BigEndian.PutUint64(c[:], rng.Uint64())
				return c
			},
			Rand: func(below time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(below))) },
		}
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
				m, err := New(cfg, p.files)
				if err != nil {
					t.Fatal(err)
				}
				p.machine = m
			}
			if p.machine.State() == Registered {
				continue
			}
			s := p.machine.Step(now)
			if s.Action == Wait {
				continue
			}
			r, alive := p.do(a, s, rng)
			if !alive {
				p.machine = nil
				continue
			}
			p.machine.Done(now, r)
			if p.machine.State() == Registered {
				open--
			}
		}
		var ids []uint64
		for _, p := range processes {
			if p.files.Temp != nil || p.files.Final == nil || *p.files.Final != p.machine.Number() {
				t.Fatalf("seed %d: files %+v of a process with number %v", seed, p.files, p.machine.Number())
			}
			ids = append(ids, p.machine.Number().ID)
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
