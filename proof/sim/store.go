package sim

import (
	"fmt"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

// StoreConfig bounds a run of holders that share one store, and its faults.
type StoreConfig struct {
	Seed    uint64
	Holders int
	Pool    int // records
	Window  clustertime.Span
	Lossy   bool // the server may be replaced by one that lacks acknowledged writes
	// Late is D of a lossy store: for how long a replaced server acknowledges writes.
	Late time.Duration
	// Skew is how far the clocks of a lossy store are apart. Without Lossy they are
	// hours apart, step, and run at a wrong pace.
	Skew     time.Duration
	Lost     float64       // of requests, and as many answers
	Twice    float64       // of requests that arrive again, seconds later
	Rude     float64       // of takes without regard for the present holder
	Faults   time.Duration // from one to the next
	Detach   float64       // in each look of a holder
	Destroy  float64
	Length   time.Duration
	Deletes  bool
	Operates bool
}

// StoreResult is the result of a run.
type StoreResult struct {
	Err                                                                  error
	Hash                                                                 uint64
	IDs, Grants                                                          int64
	Length                                                               time.Duration
	Faults, Takes, Lost, Returned, Destroyed, Deleted, Retired, Replaced int
}

// DrawStore draws the configuration of a run.
func DrawStore(seed uint64, length time.Duration) StoreConfig {
	w := newWorld(seed ^ 0x57025)
	c := StoreConfig{
		Seed: seed, Pool: 2 + w.rng.IntN(4), Window: clustertime.Span(pick(w, []int{1000, 2000, 5000, 15000})),
		Lossy: w.chance(0.3), Lost: 0.1 * w.rng.Float64(), Twice: 0.2 * w.rng.Float64(),
		Rude:   pick(w, []float64{0, 0.05, 0.5}),
		Faults: w.between(time.Second, 10*time.Second), Detach: 0.02 * w.rng.Float64(), Length: length,
	}
	c.Holders = max(2, c.Pool+w.rng.IntN(4)-1)
	if c.Lossy {
		c.Late, c.Skew = w.between(0, 3*time.Second), w.between(0, time.Second)
	} else {
		// The mark of a destroy and the floor of a repair may be lost with a server (Q7).
		c.Destroy, c.Deletes, c.Operates = pick(w, []float64{0, 0.002}), w.chance(0.5), true
	}
	return c
}

// fleet is the holders of one sequencer in one store, and their store.
type fleet struct {
	w       *world
	cfg     StoreConfig
	def     sequencer.Definition
	servers []*storeServer // the last one is the present one
	replica map[string]stored
	writes  uint64
	bounds  map[sequencer.NodeID]clustertime.Tick // the highest that was ever written
	holders []*storeHolder
	started int
	ledger  *ledger.Ledger
	rights  map[attachment.ID]lifeGrant
	buffer  []sequencer.ID
	result  StoreResult
}

// lifeGrant is the range that an attachment may have used, in its life.
type lifeGrant struct {
	life  attachment.Life
	grant attachment.Grant
}

// RunStore runs holders over a store, and writes what happened to out unless that is nil.
func RunStore(cfg StoreConfig, out io.Writer) StoreResult {
	w := newWorld(cfg.Seed)
	w.trace.out = out
	def, err := sequencer.Define("orders", sequencer.Config{Nodes: 128})
	if err != nil {
		panic(err)
	}
	f := &fleet{
		w: w, cfg: cfg, def: def, ledger: ledger.New(), buffer: make([]sequencer.ID, 70_000),
		bounds: map[sequencer.NodeID]clustertime.Tick{}, replica: map[string]stored{},
		rights: map[attachment.ID]lifeGrant{},
	}
	f.initialise()
	for range cfg.Holders {
		f.newHolder()
	}
	w.after(cfg.Faults, f.fault)
	w.after(time.Second, f.operate)
	for w.now < cfg.Length && f.result.Err == nil {
		w.run(w.now + time.Second)
	}
	f.result.Hash, f.result.Length = w.trace.hash, w.now
	f.result.IDs, f.result.Grants = f.ledger.IDs(), f.ledger.Grants()
	return f.result
}

// check keeps the first error.
func (f *fleet) check(err error) {
	if err != nil && f.result.Err == nil {
		f.w.note(failed, "", 0, 0)
		f.result.Err = fmt.Errorf("after %v: %w", f.w.now, err)
	}
}

// nonce draws one for a body.
func (f *fleet) nonce() string { return fmt.Sprintf("%x", f.w.bits()) }

// life returns the random half of a life's identity.
func (f *fleet) life() (random [8]byte) {
	bits := f.w.bits()
	return [8]byte(bits[:8])
}

// initialise writes the document and the records of a new sequencer.
func (f *fleet) initialise() {
	s := &storeServer{generation: "1", entries: map[string]stored{}}
	f.servers = []*storeServer{s}
	d := record.NewDocument(f.def, f.life(), f.nonce())
	f.put(s, documentKey, d.Encode())
	for i := range f.cfg.Pool {
		f.put(s, recordKey(sequencer.NodeID(i)), record.Born(d.Life, f.nonce()).Encode())
	}
}

// granted gives the ledger what an attachment may use, and compares it with the ticks of
// other lives: another definition could make equal IDs of them on any node.
func (f *fleet) granted(life attachment.Life, h ledger.Holding, g attachment.Grant) {
	f.check(f.ledger.Granted(h, g))
	if g.Empty() {
		return
	}
	f.rights[h.ID] = lifeGrant{life, g}
	for _, other := range f.rights {
		a, b := lifeGrant{life, g}, other
		if record.LifeNumber(b.life) < record.LifeNumber(a.life) {
			a, b = b, a
		}
		if a.life != b.life && b.grant.From < a.grant.Until {
			f.check(fmt.Errorf("H7: life %d was granted up to %d, and life %d from %d", record.LifeNumber(a.life), a.grant.Until,
				record.LifeNumber(b.life), b.grant.From))
		}
	}
}

// released gives the ledger what an attachment has used at the most.
func (f *fleet) released(h ledger.Holding, lastUsed clustertime.Tick) {
	f.ledger.Released(h, lastUsed)
	r := f.rights[h.ID]
	if r.grant.Until = min(r.grant.Until, lastUsed+1); r.grant.Empty() {
		delete(f.rights, h.ID)
	} else {
		f.rights[h.ID] = r
	}
}
