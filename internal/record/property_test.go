package record

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// world is a store with the records of one sequencer, attachments that act on what they
// read at any time, operators, and requests that land and are answered late, twice or
// never. Every clock shows any time.
type world struct {
	document Document
	marker   Marker
	records  []versioned // by node
	history  [][]versioned
	now      clustertime.Tick
	writes   int
	nonces   int

	holders []*holder
	flying  []flight
}

// versioned is a record with its revision, "" if it is missing.
type versioned struct {
	record   Record
	revision string
}

// holder is an attachment with the life it was opened for.
type holder struct {
	machine *Holding
	ref     Document
	stopped bool
	used    clustertime.Tick // stopped: the first tick that it did not use
	final   attachment.Grant // stopped: its grant then
}

// flight is a swap that was sent and may land, any number of times.
type flight struct {
	holder   *holder // nil: an operator's
	node     int
	want     Record
	revision string
}

const worldNodes = 2

func newWorld() *world {
	w := &world{now: 1_790_000_000_000}
	w.document = NewDocument(definition("orders"), [8]byte{1}, w.nonce())
	w.marker = Marker{Slots: worldNodes, Made: worldNodes, Nonce: w.nonce()}
	w.records = make([]versioned, worldNodes)
	w.history = make([][]versioned, worldNodes)
	for i := range w.records {
		w.write(i, Born(w.document.Life, w.nonce()))
	}
	return w
}

func definition(name string) sequencer.Definition {
	def, err := sequencer.Define(name, sequencer.Config{Nodes: 128})
	if err != nil {
		panic(err)
	}
	return def
}

func (w *world) nonce() string { w.nonces++; return fmt.Sprint("n", w.nonces) }

func (w *world) write(i int, r Record) {
	w.writes++
	text := r.Encode()
	got, err := Decode(text, r.Meta())
	if err != nil {
		panic(err)
	}
	w.records[i] = versioned{got, fmt.Sprint("r", w.writes)}
	w.history[i] = append(w.history[i], w.records[i])
}

// swap is the store's compare-and-swap.
func (w *world) swap(i int, r Record, revision string) bool {
	if w.records[i].revision != revision || revision == "" {
		return false
	}
	w.write(i, r)
	return true
}

// clock draws the reading of a clock: time passes, and clocks differ by more than a window.
func (w *world) clock(t *dice) clustertime.Tick {
	w.now += clustertime.Tick(t.between(0, 3))
	return w.now + clustertime.Tick(t.between(-8, 8))
}

func (w *world) bounds(t *dice, d Document) Bounds {
	return Bounds{Now: w.clock(t), Window: clustertime.Span(t.between(1, 6)), Life: d.Life, Mark: d.Mark}
}

// dice draws evenly, unlike rapid, whose small values come first: most operations need
// others before them to have an effect.
type dice struct {
	*rapid.T
	source *rand.Rand
}

func roll(t *rapid.T) *dice {
	return &dice{t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
}

// between draws a number from low to high.
func (d *dice) between(low, high int) int { return low + d.source.IntN(high-low+1) }

// newest draws one of the last n, evenly.
func newest[T any](t *dice, all []T, n int) T {
	return all[len(all)-1-t.between(0, min(n, len(all))-1)]
}

// open begins an attachment for the present life, which may end before it takes a record.
func (w *world) open(*dice) {
	if n := len(w.holders); w.document.Phase == Alive && (n == 0 || w.holders[n-1].machine != nil ||
		w.holders[n-1].ref != w.document) {
		w.holders = append(w.holders, &holder{ref: w.document})
	}
}

// pick draws one of the last holders that a condition holds for, nil if there is none.
func (w *world) pick(t *dice, condition func(*Holding) bool) *holder {
	var those []*holder
	for _, h := range w.holders {
		if h.machine == nil && condition == nil || h.machine != nil && condition != nil && condition(h.machine) {
			those = append(those, h)
		}
	}
	if len(those) == 0 {
		return nil
	}
	return newest(t, those, 4)
}

func isBusy(h *Holding) bool { return !h.Idle() }
func isIdle(h *Holding) bool { return h.Phase() == Holds && h.Idle() }
func isAny(*Holding) bool    { return true }

// take begins to take a record as it was at some time.
func (w *world) take(t *dice) {
	h := w.pick(t, nil)
	if h == nil {
		w.open(t)
		return
	}
	node := t.between(0, worldNodes-1)
	seen := newest(t, w.history[node], 3)
	id := attachment.ID{byte(len(w.holders)), byte(w.nonces), byte(w.nonces >> 8), 1}
	m, err := NewHolding(id, Candidate{Node: sequencer.NodeID(node), Record: seen.record}, seen.revision, "task",
		w.nonce(), w.bounds(t, h.ref))
	switch {
	case err == nil:
		h.machine = m
	case errors.Is(err, sequencer.ErrDestroyed):
		w.holders = slices.DeleteFunc(w.holders, func(x *holder) bool { return x == h })
	}
}

// send sends the request of a machine, or has it read the record as it is.
func (w *world) send(t *dice) {
	h := w.pick(t, isBusy)
	if h == nil {
		return
	}
	node := int(h.machine.Node())
	switch request, want, revision := h.machine.Want(); request {
	case Swap:
		h.machine.Sent()
		w.flying = append(w.flying, flight{h, node, want, revision})
	case Load:
		now := w.records[node]
		seen := Seen{Record: now.record, Revision: now.revision}
		if now.revision == "" {
			seen.Err = ErrDamaged
		}
		h.machine.Read(seen, w.nonce())
	}
}

// land lets a request land, and answers it, or keeps a copy of it or its answer.
func (w *world) land(t *dice) {
	if len(w.flying) == 0 {
		return
	}
	i := len(w.flying) - 1 - t.between(0, len(w.flying)-1)
	f := w.flying[i]
	if t.between(0, 1) == 0 {
		w.flying = slices.Delete(w.flying, i, i+1)
	}
	landed := w.swap(f.node, f.want, f.revision)
	if f.holder == nil {
		return
	}
	switch t.between(0, 2) {
	case 1: // lost; the holder does not know
		f.holder.machine.Swapped(f.want.Nonce, Unknown, "", w.nonce())
	case 0: // it comes
		answer := Refused
		if landed {
			answer = Landed
		}
		f.holder.machine.Swapped(f.want.Nonce, answer, w.records[f.node].revision, w.nonce())
	}
}

func (w *world) extend(t *dice) {
	if h := w.pick(t, isIdle); h != nil {
		_ = h.machine.Extend(nil, w.nonce(), w.bounds(t, h.ref))
	}
}

func (w *world) look(t *dice) {
	if h := w.pick(t, isAny); h != nil {
		h.machine.Look()
	}
}

// stop ends an attachment that has used all, nothing, or a part of its grant.
func (w *world) stop(t *dice) {
	h := w.pick(t, isAny)
	if h == nil || h.stopped || h.machine.Phase() == Taking && t.between(0, 3) > 0 {
		return
	}
	g, _ := h.machine.Grant()
	h.stopped, h.used, h.final = true, g.From, g
	rel := attachment.Release{ID: h.machine.ID(), Node: h.machine.Node()}
	if !g.Empty() && t.between(0, 1) == 0 {
		rel.LastUsed = g.From + clustertime.Tick(t.between(0, int(g.Until-g.From)-1))
		h.used = rel.LastUsed + 1
	}
	h.machine.Stop(rel, w.nonce())
}

func (w *world) giveUp(t *dice) {
	if h := w.pick(t, isBusy); h != nil && t.between(0, 4) == 0 {
		h.machine.GiveUp()
	}
}

// destroy does the next step of a destroy or a create.
func (w *world) destroy(t *dice) {
	switch w.document.Phase {
	case Alive:
		if t.between(0, 4) > 0 {
			return
		}
		w.document, _ = w.document.BeginDestroy(w.nonce())
	case Destroyed:
		next, err := w.document.Recreate(definition("orders"), [8]byte{byte(w.nonces)}, w.nonce())
		if err != nil {
			t.Fatal(err)
		}
		w.document = next
	case Destroying:
		i := t.between(0, worldNodes-1)
		for i := range w.records[:t.between(0, worldNodes)] {
			if r, changed, err := w.records[i].record.Close(w.document.Life, w.nonce()); err == nil && changed {
				w.swap(i, r, w.records[i].revision)
			}
		}
		if r, changed, err := w.records[i].record.Close(w.document.Life, w.nonce()); err == nil && changed {
			w.swap(i, r, w.records[i].revision)
		}
		var all []Record
		for _, v := range w.records {
			all = append(all, v.record)
		}
		if next, err := w.document.EndDestroy(all, w.nonce()); err == nil {
			w.document = next
		}
	}
}

// operate retires or restores a record, as it was read, at any later time.
func (w *world) operate(t *dice) {
	i := t.between(0, worldNodes-1)
	v := w.records[i]
	r, changed, err := v.record.Retire(w.document.Life, w.nonce())
	if v.record.State == Retired {
		r, changed, err = v.record.Restore(w.document.Life, w.nonce())
	}
	if w.document.Phase == Alive && err == nil && changed {
		w.flying = append(w.flying, flight{nil, i, r, v.revision})
	}
}

// rights returns the ticks that a holder has used or may use.
func (h *holder) rights() (g attachment.Grant) {
	if h.machine == nil {
		return g
	}
	g, _ = h.machine.Grant()
	if h.stopped {
		g.Until = min(g.Until, h.used)
	}
	return g
}

// check wants no two attachments with a tick of a node in common, or of two lives in
// common on any nodes: their definitions may differ.
func (w *world) check(t *dice) {
	for i, a := range w.holders {
		if a.stopped {
			if g, _ := a.machine.Grant(); g != a.final {
				t.Fatalf("attachment %v stopped with %v and has %v", a.machine.ID(), a.final, g)
			}
		}
		for _, b := range w.holders[:i] {
			x, y := a.rights(), b.rights()
			if x.Empty() || y.Empty() || max(x.From, y.From) >= min(x.Until, y.Until) {
				continue
			}
			if a.ref.Life != b.ref.Life || a.machine.Node() == b.machine.Node() {
				t.Fatalf("attachments %v of life %d and %v of life %d have %v and %v", a.machine.ID(), LifeNumber(a.ref.Life),
					b.machine.ID(), LifeNumber(b.ref.Life), x, y)
			}
		}
	}
}

// TestNoTickIsGrantedTwice: whatever is read late, lands late, twice or never, and
// whatever clocks show, no two attachments have a tick in common.
func TestNoTickIsGrantedTwice(t *testing.T) {
	operations := []func(*world, *dice){
		(*world).land, (*world).send, (*world).take, (*world).open, (*world).send, (*world).land, (*world).extend,
		(*world).stop,
		(*world).look, (*world).destroy, (*world).operate, (*world).take, (*world).giveUp, (*world).extend, (*world).send,
	}
	runs, granted := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		t := roll(rt)
		w := newWorld()
		runs++
		for range t.between(400, 900) {
			operations[t.between(0, len(operations)-1)](w, t)
			w.check(t)
		}
		for _, h := range w.holders {
			if !h.rights().Empty() {
				granted++
			}
		}
	})
	if granted < runs/2 { // 20 runs with -short, else 100
		t.Fatalf("only %d grants in %d runs", granted, runs)
	}
}

// TestHoldingSettles: once the store answers, every machine comes to rest within a few
// requests, and none that was not disturbed has lost its record.
func TestHoldingSettles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		t := roll(rt)
		w := newWorld()
		w.open(t)
		h := w.holders[0]
		for h.machine == nil {
			w.take(t)
		}
		for range t.between(0, 30) {
			[]func(*dice){w.send, w.send, w.land, w.land, w.extend, w.look}[t.between(0, 5)](t)
		}
		stops := t.between(0, 1) == 0 && h.machine.Phase() != Lost
		for stops && !h.stopped {
			w.stop(t)
		}
		for i := 0; !h.machine.Idle(); i++ {
			if i > 8 {
				t.Fatalf("still %v after %d requests", h.machine.Phase(), i)
			}
			request, want, revision := h.machine.Want()
			now := w.records[h.machine.Node()]
			switch {
			case request == Load:
				h.machine.Read(Seen{Record: now.record, Revision: now.revision}, w.nonce())
			case w.swap(int(h.machine.Node()), want, revision):
				h.machine.Sent()
				h.machine.Swapped(want.Nonce, Landed, w.records[h.machine.Node()].revision, w.nonce())
			default:
				h.machine.Sent()
				h.machine.Swapped(want.Nonce, Refused, "", w.nonce())
			}
		}
		r := w.records[h.machine.Node()].record
		switch phase := h.machine.Phase(); {
		case stops && (phase != Done || r.HeldBy(h.machine.ID())):
			t.Fatalf("stopped, and it is %v and the record %v", phase, r.State)
		case !stops && phase == Lost && !errors.Is(h.machine.Cause(), ErrExpired):
			t.Fatalf("lost undisturbed: %v", h.machine.Cause())
		case !stops && phase == Holds && !r.HeldBy(h.machine.ID()):
			t.Fatalf("holds a record that is %v", r.State)
		}
	})
}
