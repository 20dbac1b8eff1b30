package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Result is an exploration's result.
type Result struct {
	States    int    // different states
	Steps     int    // the greatest distance of a state from the start
	Exhausted bool   // every state that the scope allows was visited
	Duplicate string // ticks that two attachments may both use, "" for none
	Trace     []string
	Runs      int // inputs to the real machines
	Took      time.Duration
}

// Limits bound an exploration. Zero means unlimited.
type Limits struct {
	States int
	Time   time.Duration
}

// sum identifies a state in the set of visited ones: 128 bits of SHA-256 over its canonical bytes.
// Among n states two share a sum with a probability of about n*n / 2^129, which is below 10^-20 for
// 100 million; the explorer would then miss the states after one of them.
type sum [16]byte

// search is a breadth-first search, so the first path to a state is a shortest one.
type search struct {
	lab    *lab
	seen   seen
	from   []uint32 // by state: the previous one
	level  []string // the states at the current distance, encoded
	at     []uint32 // their numbers
	next   []string
	nextAt []uint32
	buffer []byte
	result Result
}

// Explore tries every step that a scope allows, with the rule weak omitted. It ends at the first
// state in which a tick may be used twice.
func Explore(s Scope, weak Weakness, limits Limits) (Result, error) {
	begun := time.Now()
	x := &search{lab: newLab(s, weak)}
	first, err := x.lab.start()
	if err != nil {
		return Result{}, err
	}
	x.visit(first, 0)
	x.advance()
	for len(x.level) > 0 {
		x.result.Steps++
		for i, encoded := range x.level {
			if last, found := x.expand(encoded, x.at[i]); found {
				x.result.Trace = x.story(last)
				x.finish(begun)
				return x.result, nil
			}
			if limits.States > 0 && len(x.from) >= limits.States || limits.Time > 0 && i%64 == 0 &&
				time.Since(begun) > limits.Time {
				x.finish(begun)
				return x.result, nil
			}
		}
		x.advance()
	}
	x.result.Exhausted = len(x.level) == 0
	x.finish(begun)
	return x.result, nil
}

func (x *search) finish(begun time.Time) {
	x.result.States, x.result.Runs, x.result.Took = len(x.from), x.lab.runs, time.Since(begun)
}

func (x *search) advance() {
	x.level, x.at, x.next, x.nextAt = x.next, x.nextAt, nil, nil
}

// expand visits every state one step away. It reports the number of a state with a duplicate.
func (x *search) expand(encoded string, number uint32) (last uint32, found bool) {
	w := readWorld([]byte(encoded))
	x.lab.steps(&w, func(s step) {
		if found {
			return
		}
		next, done := x.lab.do(w, s)
		if !done {
			return
		}
		fresh := x.visit(next, number)
		if !fresh {
			return
		}
		if x.result.Duplicate = next.duplicate(x.lab.scope.Holders); x.result.Duplicate != "" {
			last, found = uint32(len(x.from)-1), true
		}
	})
	return last, found
}

// visit records a new state.
func (x *search) visit(w world, from uint32) (fresh bool) {
	x.buffer = w.append(x.buffer[:0])
	if !x.seen.add(sumOf(x.buffer)) {
		return false
	}
	x.next = append(x.next, string(x.buffer))
	x.nextAt = append(x.nextAt, uint32(len(x.from)))
	x.from = append(x.from, from)
	return true
}

func sumOf(encoded []byte) sum {
	full := sha256.Sum256(encoded)
	return sum(full[:16])
}

// seen is the set of visited states, in order: an open hash table of numbers into the list of sums.
// It takes less than 30 bytes per state.
type seen struct {
	sums  []sum
	slots []uint32 // number + 1; 0 is empty
}

func (s *seen) add(v sum) bool {
	if 4*(len(s.sums)+1) > 3*len(s.slots) {
		s.grow()
	}
	at := s.find(v)
	if s.slots[at] != 0 {
		return false
	}
	s.sums = append(s.sums, v)
	s.slots[at] = uint32(len(s.sums))
	return true
}

// find returns the slot with v, or the empty slot for it.
func (s *seen) find(v sum) uint64 {
	mask := uint64(len(s.slots) - 1)
	at := binary.LittleEndian.Uint64(v[:]) & mask
	for s.slots[at] != 0 && s.sums[s.slots[at]-1] != v {
		at = (at + 1) & mask
	}
	return at
}

func (s *seen) grow() {
	s.slots = make([]uint32, max(1024, 2*len(s.slots)))
	for i, v := range s.sums {
		s.slots[s.find(v)] = uint32(i + 1)
	}
}
